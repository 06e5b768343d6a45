"""The account directory: whom a reset is for, where to reach them, and their link.

The core knows accounts only by opaque references and through this protocol. Another account
system than Django's implements :class:`AccountDirectory` and is named in
``RESETDELIVERY['DIRECTORY']``.
"""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import inspect
import json
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured, ValidationError
from django.core.signals import setting_changed
from django.db import models, router
from django.db.models import Q, Value
from django.db.models.lookups import Exact
from django.utils.module_loading import import_string

from notifications.channels import Channel
from notifications.sms.phone import InvalidNumber, stored_number
from resetdelivery.conf import get_settings
from resetdelivery.links import ResetTokenGenerator, may_reset, reset_link

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser

#: An address that more accounts share than this resolves to the first of them.
MAX_ACCOUNTS = 5

#: Of the usual form; whose it is does not matter.
ANY_NUMBER = "+4915112345678"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What delivery needs to know of one account, now. Lives only in memory.

    ``email`` is a verified address and ``phone`` an E.164 number, or ``None``. ``usable`` says
    that it is active and signs in by password. ``state`` is a canonical text of all that makes
    its links and destinations what they are; equal texts mean equal links. ``link_material`` is
    what the directory itself needs to make a link without asking again.
    """

    ref: str = field(repr=False)
    state: str = field(repr=False)
    email: str | None = field(default=None, repr=False)
    phone: str | None = field(default=None, repr=False)
    locale: str | None = None
    usable: bool = True
    link_material: object = field(default=None, repr=False, compare=False)

    def destination(self, channel: Channel) -> str | None:
        """Where ``channel`` reaches this account, if it does."""
        return {Channel.EMAIL: self.email, Channel.SMS: self.phone}[channel]


class AccountDirectory(Protocol):
    """Finds accounts. Read-only; called by the admission and by every worker."""

    def resolve(self, submitted: str, *, using: str | None = None) -> Sequence[str]:
        """References of the accounts meant by what a person typed, at most five, in a stable order.

        Empty for what is unknown, after the same work: who measures the time learns nothing.
        """
        ...

    def get_many(self, refs: Collection[str]) -> Mapping[str, Account]:
        """The accounts of ``refs`` as they are now, by one query; unknown and malformed ones are absent.

        They take as much work as the others: a request waits for this.
        """
        ...

    def make_link(self, account: Account, expires_at: dt.datetime) -> str:
        """The reset link of ``account`` that dies at ``expires_at`` (aware, whole seconds).

        Without I/O, and deterministic: the same ``state`` and expiry give the same link.
        """
        ...


class DjangoUserDirectory:
    """Accounts of the user model, whatever its key and its fields.

    A reference is ``str(pk)``. Options name fields of the model: ``email_field`` (its
    ``EMAIL_FIELD`` where not given), ``phone_field`` and ``locale_field`` (none where not given).
    Every address and number stored there counts as verified; a project that keeps unverified
    ones overrides :meth:`account`.
    """

    def __init__(
        self,
        *,
        email_field: str | None = None,
        phone_field: str | None = None,
        locale_field: str | None = None,
    ) -> None:
        model = get_user_model()
        self._model: type[AbstractBaseUser] = model
        self._username_field: str = model.USERNAME_FIELD
        self._pk: models.Field[Any, Any] = getattr(model._meta.pk, "target_field", model._meta.pk)
        self._email_field = _checked_field(model, "email_field", email_field) or _default_email_field(model)
        self._phone_field = _checked_field(model, "phone_field", phone_field)
        self._locale_field = _checked_field(model, "locale_field", locale_field)
        self.token_generator = ResetTokenGenerator(
            email_field=self._email_field, phone_field=self._phone_field
        )

    def resolve(self, submitted: str, *, using: str | None = None) -> Sequence[str]:
        """Accounts with this user name, then those with this address, the earliest to join first.

        The earliest, so that nobody can push an account out by registering more with its address.

        One query, which indexes on the user name and on ``Upper(address)`` serve. Inactive accounts
        and those without a password are found too: delivery drops them, where nobody waits.
        """
        typed = _storable(unicodedata.normalize("NFKC", submitted)).strip()
        if not typed:  # or every account without an address would be meant
            return ()
        name, address = self._username_field, self._email_field or self._username_field
        accounts = self._accounts(using).filter(Q(**{name: typed}) | Q(**{f"{address}__iexact": typed}))
        found = list(accounts.order_by(*self._earliest_first()).values_list("pk", name, address))
        named = [str(pk) for pk, username, _ in found if _same_text(username, typed)]
        addressed = [str(pk) for pk, _, email in found if _same_text(email, typed)]
        return tuple(dict.fromkeys(named + addressed))[:MAX_ACCOUNTS]

    def get_many(self, refs: Collection[str]) -> Mapping[str, Account]:
        """See :meth:`AccountDirectory.get_many`."""
        keys = [key for key in map(self._key, refs) if key is not None]
        # Django drops a query that asks for no key; a request for an unknown account would show it.
        wanted = Q(pk__in=keys) if keys else Exact(Value(0), 1)
        found = {str(user.pk): self.account(user) for user in self._accounts().filter(wanted)}
        for _ in range(len(refs) - len(found)):
            # As much work where there is nobody. Not by a subclass's own method, which may ask the
            # database about a user that it does not have.
            DjangoUserDirectory.account(self, self._model())
        return found

    def make_link(self, account: Account, expires_at: dt.datetime) -> str:
        """See :meth:`AccountDirectory.make_link`; errors as in :func:`~resetdelivery.links.reset_link`."""
        user = cast("AbstractBaseUser", account.link_material)
        return reset_link(user, expires_at, generator=self.token_generator)

    def account(self, user: AbstractBaseUser) -> Account:
        """What delivery needs to know of ``user``."""
        return Account(
            ref=str(user.pk),
            state=self._state(user),
            # The stored address, never the typed one, which may only look like it (CVE-2019-19844).
            email=_text(user, self._email_field).strip() or None,
            phone=self._phone(user),
            locale=_text(user, self._locale_field) or None,
            usable=may_reset(user),
            link_material=user,
        )

    def _phone(self, user: AbstractBaseUser) -> str | None:
        """The number of ``user``; whoever has none takes as long to read, or the time would tell."""
        if self._phone_field is None:
            return None
        text = _text(user, self._phone_field)
        number = _stored_number(text or ANY_NUMBER)
        return number if text else None

    def _state(self, user: AbstractBaseUser) -> str:
        contact_points = self.token_generator.contact_points(user)
        return json.dumps([str(user.pk), *contact_points, user.password, bool(user.is_active)])

    def _accounts(self, using: str | None = None) -> models.QuerySet[AbstractBaseUser]:
        manager = self._model._default_manager
        return manager.using(using or router.db_for_read(self._model))

    def _earliest_first(self) -> tuple[str, ...]:
        names = {f.name for f in self._model._meta.concrete_fields}
        return ("date_joined", "pk") if "date_joined" in names else ("pk",)

    def _key(self, ref: str) -> object | None:
        """The primary key that ``ref`` writes in its one canonical form, or ``None``."""
        try:
            key = self._pk.to_python(ref)
            self._pk.run_validators(key)
        except (ValidationError, TypeError, ValueError, OverflowError):
            return None
        # A second spelling ("007") would be a second account to every lock and constraint.
        return key if str(key) == ref == _storable(ref) else None


def _checked_field(model: type[models.Model], option: str, name: str | None) -> str | None:
    if name is None or name in (known := [f.name for f in model._meta.concrete_fields]):
        return name
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Its fields are {', '.join(sorted(known))}."
    raise ImproperlyConfigured(
        f"RESETDELIVERY['DIRECTORY_OPTIONS'][{option!r}] is {name!r}, which is no field of "
        f"{model._meta.label}. {hint}"
    )


def _default_email_field(model: type[AbstractBaseUser]) -> str | None:
    name = model.get_email_field_name()
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return name


def _text(user: AbstractBaseUser, name: str | None) -> str:
    return str(getattr(user, name) or "") if name else ""


def _stored_number(text: str) -> str | None:
    try:
        return stored_number(text)
    except InvalidNumber:
        return None


def _same_text(stored: object, typed: str) -> bool:
    """Equal but for case and compatible characters (Unicode TR 36, 2.11.2), decided here.

    A database folds by its own rules: PostgreSQL takes a dotless i for an i.
    """
    return _folded(str(stored or "")) == _folded(typed)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text.strip()).casefold()


def _storable(text: str) -> str:
    """``text`` without what no database stores: NUL characters and lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


@functools.lru_cache(maxsize=1)
def get_directory() -> AccountDirectory:
    """The configured directory, made once.

    ``ImproperlyConfigured`` if ``RESETDELIVERY['DIRECTORY']`` cannot be imported or does not
    take the options in ``RESETDELIVERY['DIRECTORY_OPTIONS']``.
    """
    settings = get_settings()
    try:
        factory = import_string(settings.directory)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"RESETDELIVERY['DIRECTORY'] is {settings.directory!r}, which cannot be imported ({error}). "
            "Write the dotted path of a class."
        ) from error
    try:
        inspect.signature(factory).bind(**settings.directory_options)
    except TypeError as error:
        raise ImproperlyConfigured(
            f"RESETDELIVERY['DIRECTORY_OPTIONS'] does not fit {settings.directory}: {error}. "
            f"It takes {inspect.signature(factory)}."
        ) from error
    return cast("AccountDirectory", factory(**settings.directory_options))


def _forget(*, setting: str, **_: object) -> None:
    if setting in {"RESETDELIVERY", "AUTH_USER_MODEL"}:
        get_directory.cache_clear()


setting_changed.connect(_forget, dispatch_uid="resetdelivery.directory")
