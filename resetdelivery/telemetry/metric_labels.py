"""The labels of metrics: each has its values from a closed set, and a size that they never exceed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.conf import get_settings
from resetdelivery.domain.reasons import DeliveryReason, PauseReason
from resetdelivery.domain.states import OPEN_STATES, Authority, DeliveryState
from resetdelivery.domain.telemetry import SEGMENT_BUCKETS, Ending, FirstHint, Job, LegacyOutcome
from resetdelivery.models.channel_control import ChannelMode

#: Stands for every template version that has no label of its own.
RETIRED = "retired"
#: Stands for every reason that has no label of its own.
OTHER = "other"
#: The provider of a channel that lists none by name.
ONLY = "only"
#: Template versions at the most, ``retired`` among them.
MOST_VERSIONS = 5
#: Names of providers at the most, over all channels.
MOST_PROVIDERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label and all values that it can have; ``most`` is how many there are at the most."""

    name: str
    values: Callable[[], tuple[str, ...]]
    most: int


def wanted_versions() -> tuple[str, ...]:
    """The template versions that should have a label: those of new resets first, each once."""
    settings = get_settings()
    named = (settings.template_version, settings.notice_template_version, *settings.measured_versions)
    return tuple(version for version in dict.fromkeys(named) if version != RETIRED)


def wanted_providers() -> tuple[str, ...]:
    """The providers that should have a label, in the order of their names."""
    return tuple(sorted({name for channel in get_settings().channels for name in providers_of(channel)}))


def providers_of(channel: Channel) -> tuple[str, ...]:
    """The providers of a configured channel, as settings name them; :data:`ONLY` where they do not."""
    return tuple(one.name for one in get_settings().channel(channel).providers) or (ONLY,)


def label_versions() -> tuple[str, ...]:
    """The template versions that have a label, and :data:`RETIRED` for all others."""
    return (*wanted_versions()[: MOST_VERSIONS - 1], RETIRED)


def label_providers() -> tuple[str, ...]:
    """The providers that have a label."""
    return wanted_providers()[:MOST_PROVIDERS]


def _closed(name: str, values: Iterable[str]) -> Label:
    """A label whose values are the same in every project."""
    fixed = tuple(str(value) for value in values if value)
    return Label(name=name, values=lambda: fixed, most=len(fixed))


CHANNEL = _closed("channel", Channel)
OUTCOME = _closed("outcome", OutcomeKind)
VERSION = Label(name="template_version", values=label_versions, most=MOST_VERSIONS)
AUTHORITY = _closed("authority", Authority)
ENDING = _closed("ending", [one for one in Ending if one is not Ending.SHADOWED])
#: A shadow is never sent, and never withheld either.
SHADOW_ENDING = _closed("ending", [Ending.FAILED, Ending.EXPIRED, Ending.CANCELLED, Ending.SHADOWED])
LEGACY_OUTCOME = _closed("outcome", LegacyOutcome)
USELESS = _closed("reason", [DeliveryReason.NO_USEFUL_TIME_LEFT, DeliveryReason.RETRY_DOES_NOT_FIT, OTHER])
HELD = _closed("held", [DeliveryState.LEASED, DeliveryState.SUBMITTING])
VERDICT = _closed("verdict", ReceiptVerdict)
HINT = _closed("result", FirstHint)
SEGMENTS = _closed("segments", SEGMENT_BUCKETS)
STATE = _closed("state", sorted(OPEN_STATES))
MODE = _closed("mode", ChannelMode)
PAUSE = _closed("reason", PauseReason)
PROVIDER = Label(name="provider", values=label_providers, most=MOST_PROVIDERS)
# Not "job": that is what Prometheus calls whom it scrapes.
JOB = _closed("name", Job)
