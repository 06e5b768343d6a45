"""All settings of this package: one typed object, read from ``settings.RESETDELIVERY``.

Durations are :class:`datetime.timedelta`. A misspelt name or a wrong type is reported with the
name, the value's type and the fix, at start by the system checks and at first use otherwise.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import hashlib
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.encoding import force_str

from notifications.channels import Channel
from notifications.rendering import MAX_SEGMENTS
from notifications.sms.typography import Typography
from resetdelivery.domain.circuit import CircuitPolicy
from resetdelivery.domain.idempotency import PseudonymKey
from resetdelivery.domain.limits import Limit, LimitKind
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.provider_settings import ProviderSettings, read_providers
from resetdelivery.rollout_settings import RolloutSettings
from resetdelivery.setting_values import listed, read


class Dispatch(enum.StrEnum):
    """How a committed intent reaches a worker."""

    BROKER = "broker"
    DATABASE = "database"
    INLINE = "inline"


class Recovery(enum.StrEnum):
    """Whether the sweep acts, only counts, or rests."""

    OFF = "off"
    OBSERVE = "observe"
    ON = "on"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """One channel: what submits its messages, how long that may take, how it tries again.

    ``transport`` and ``options`` are the short form for one provider, ``providers`` are several,
    the one to ask first at the front. After ``outage_threshold`` outages in a row a provider is
    passed over for ``outage_pause``, doubled up to ``outage_pause_cap`` while it stays away, and
    after a configuration error for ``misconfigured_pause`` if there is another.
    ``max_segments``, ``typography`` and ``regions`` are for SMS: a message that takes more
    segments, or goes to another country than those (ISO 3166 codes; none means all), fails before
    it is submitted. ``gives_receipts``: its provider tells us what arrived, so
    that under the strategy ``fallback`` acceptance alone is not enough. The next channel is armed
    ``fallback_after`` this one's turn began, unless by then there was enough.
    """

    transport: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    providers: tuple[ProviderSettings, ...] = ()
    outage_threshold: int = 3
    outage_pause: dt.timedelta = dt.timedelta(seconds=5)
    outage_pause_cap: dt.timedelta = dt.timedelta(seconds=30)
    misconfigured_pause: dt.timedelta = dt.timedelta(minutes=5)
    queue: str = ""
    max_lifetime: dt.timedelta = dt.timedelta(hours=24)
    send_budget: dt.timedelta = dt.timedelta(seconds=15)
    wave: int = 16
    backoff_base: dt.timedelta = dt.timedelta(seconds=2)
    backoff_factor: float = 2.0
    backoff_cap: dt.timedelta = dt.timedelta(seconds=60)
    max_attempts: int = 6
    max_ambiguous_resends: int | None = None
    expected_queue_delay: dt.timedelta = dt.timedelta(seconds=1)
    expected_latency: dt.timedelta = dt.timedelta(seconds=2)
    max_segments: int = MAX_SEGMENTS
    typography: Typography = Typography.PLAIN
    regions: tuple[str, ...] = ()
    gives_receipts: bool = False
    fallback_after: dt.timedelta = dt.timedelta(minutes=2)

    def circuit_policy(self) -> CircuitPolicy:
        """The pure form of this channel's outage settings."""
        return CircuitPolicy(
            threshold=self.outage_threshold,
            pause_seconds=self.outage_pause.total_seconds(),
            pause_cap_seconds=self.outage_pause_cap.total_seconds(),
            misconfigured_seconds=self.misconfigured_pause.total_seconds(),
        )

    def retry_policy(self, min_useful: dt.timedelta) -> RetryPolicy:
        """The pure form of this channel's retry settings."""
        return RetryPolicy(
            base_seconds=self.backoff_base.total_seconds(),
            factor=self.backoff_factor,
            cap_seconds=self.backoff_cap.total_seconds(),
            max_attempts=self.max_attempts,
            max_ambiguous_resends=self.max_ambiguous_resends,
            expected_queue_delay_seconds=self.expected_queue_delay.total_seconds(),
            expected_latency_seconds=self.expected_latency.total_seconds(),
            min_useful_seconds=min_useful.total_seconds(),
        )


CHANNEL_DEFAULTS: Mapping[Channel, Mapping[str, Any]] = {
    Channel.EMAIL: {"transport": "notifications.email.smtp.SmtpTransport", "queue": "email"},
    # NIST SP 800-63B-4, 4.2.1.2: a code by text message lives ten minutes at most. A second copy
    # of an SMS costs money and worries its reader, so one resend after an ambiguous answer.
    Channel.SMS: {
        "transport": "notifications.sms.twilio.TwilioTransport",
        "queue": "sms",
        "max_lifetime": dt.timedelta(minutes=10),
        "max_ambiguous_resends": 1,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(RolloutSettings):
    """``settings.RESETDELIVERY``, checked. Keys of the dict are these names in capitals."""

    reset_base_url: str = ""
    reset_url_name: str = "password_reset_confirm"
    link_keys: tuple[str, ...] = field(default=(), repr=False)
    pseudonym_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    brand: str = "Our shop"
    support: str = ""
    directory: str = "resetdelivery.directory.DjangoUserDirectory"
    directory_options: Mapping[str, Any] = field(default_factory=dict)
    channels: Mapping[Channel, ChannelSettings] = field(default_factory=dict)
    dispatch: Dispatch = Dispatch.BROKER
    recovery: Recovery = Recovery.ON
    template_version: str = "1"
    locale: str = "en"
    lifetime: dt.timedelta = dt.timedelta(minutes=15)
    max_lifetime: dt.timedelta = dt.timedelta(hours=24)
    min_useful: dt.timedelta = dt.timedelta(seconds=30)
    claim_limit: int = 50
    lease: dt.timedelta = dt.timedelta(seconds=30)
    lease_margin: dt.timedelta = dt.timedelta(seconds=5)
    fill_after: dt.timedelta = dt.timedelta(seconds=1)
    max_claims: int = 10
    sweep_interval: dt.timedelta = dt.timedelta(seconds=10)
    sweep_grace: dt.timedelta = dt.timedelta(seconds=15)
    sweep_limit: int = 500
    poll_interval: dt.timedelta = dt.timedelta(seconds=1)
    publish_timeout: dt.timedelta = dt.timedelta(seconds=1)
    publish_pause: dt.timedelta = dt.timedelta(seconds=5)
    hint_backlog: int = 4
    account_per_hour: int = 3
    account_per_day: int = 8
    destination_per_hour: int = 3
    destination_per_day: int = 8
    admission_lock_timeout: dt.timedelta = dt.timedelta(seconds=2)
    probe_after: dt.timedelta = dt.timedelta(seconds=30)
    after_reset: tuple[str, ...] = ()
    notice_lifetime: dt.timedelta = dt.timedelta(hours=1)
    notice_template_version: str = "1"
    receipts_base_url: str = ""
    receipts: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def channel(self, channel: Channel) -> ChannelSettings:
        """The settings of a configured channel; ``KeyError`` otherwise."""
        return self.channels[channel]

    def policy(self, channel: Channel) -> RetryPolicy:
        """How ``channel`` tries again, also where it is configured no more."""
        options = self.channels.get(channel)
        if options is None:
            # Nobody sends on it any more; what is left of it must still come to an end.
            return RetryPolicy(min_useful_seconds=self.min_useful.total_seconds())
        return options.retry_policy(self.min_useful)

    def limits(self) -> Mapping[LimitKind, Limit]:
        """How many requests one account, and one destination over all accounts, may make."""
        of_destination = Limit(per_hour=self.destination_per_hour, per_day=self.destination_per_day)
        return {
            LimitKind.ACCOUNT: Limit(per_hour=self.account_per_hour, per_day=self.account_per_day),
            LimitKind.DESTINATION: of_destination,
        }

    def message_id_host(self) -> str:
        """The right-hand side of a Message-ID: the host that the link leads to."""
        return urlsplit(self.reset_base_url).hostname or "localhost"

    def signing_keys(self) -> tuple[str, ...]:
        """Keys for links, the signing one first; Django's secret keys where none are set."""
        return self.link_keys or _django_secrets()

    def digest_keys(self) -> tuple[PseudonymKey, ...]:
        """Keys for pseudonyms, the one for new digests first."""
        if self.pseudonym_keys:
            return tuple(PseudonymKey(id=i, secret=s.encode()) for i, s in self.pseudonym_keys.items())
        return tuple(PseudonymKey(id=_key_id(s), secret=s.encode()) for s in _django_secrets())


def _django_secrets() -> tuple[str, ...]:
    return tuple(map(force_str, [django_settings.SECRET_KEY, *django_settings.SECRET_KEY_FALLBACKS]))


def _key_id(secret: str) -> str:
    return "d" + hashlib.sha256(b"resetdelivery key id" + secret.encode()).hexdigest()[:7]


class SettingsInvalid(ImproperlyConfigured):
    """``settings.RESETDELIVERY`` has problems; ``problems`` lists them as sentences."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(raw: object) -> Settings:
    """Settings from the dict ``raw``; :class:`SettingsInvalid` with every problem found."""
    problems: list[str] = []
    if not isinstance(raw, Mapping):
        raise SettingsInvalid([f"RESETDELIVERY must be a dict, not {type(raw).__name__}."])
    raw_channels = raw.get("CHANNELS", {Channel.EMAIL: {}})
    values = read(Settings, {k: v for k, v in raw.items() if k != "CHANNELS"}, "RESETDELIVERY", problems)
    values["channels"] = _read_channels(raw_channels, problems)
    if problems:
        raise SettingsInvalid(problems)
    return Settings(**values)


def _read_channels(raw: object, problems: list[str]) -> Mapping[Channel, ChannelSettings]:
    if not isinstance(raw, Mapping) or not raw:
        problems.append(
            "RESETDELIVERY['CHANNELS'] must be a dict with at least one channel, such as 'email'."
        )
        return {}
    found: dict[Channel, ChannelSettings] = {}
    for name, options in raw.items():
        where = f"RESETDELIVERY['CHANNELS'][{str(name)!r}]"
        if name not in list(Channel):
            problems.append(f"{where} is no channel; use {listed(list(Channel))}.")
        elif not isinstance(options, Mapping):
            problems.append(f"{where} must be a dict, not {type(options).__name__}.")
        else:
            channel = Channel(name)
            plain = {key: value for key, value in options.items() if key != "PROVIDERS"}
            given = read(ChannelSettings, plain, where, problems)
            if "PROVIDERS" in options:
                given["providers"] = read_providers(options, where, problems)
            found[channel] = ChannelSettings(**{**CHANNEL_DEFAULTS[channel], **given})
    return types.MappingProxyType(found)


@functools.lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The checked settings, read once."""
    return load(getattr(django_settings, "RESETDELIVERY", {}))


def _forget(*, setting: str, **_: object) -> None:
    if setting in {"RESETDELIVERY", "SECRET_KEY", "SECRET_KEY_FALLBACKS"}:
        get_settings.cache_clear()


setting_changed.connect(_forget, dispatch_uid="resetdelivery.conf")
