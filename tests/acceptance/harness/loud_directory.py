"""An account directory that fails as a careless one would: with everything it knows in the text."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from resetdelivery.directory import Account, DjangoUserDirectory


class LoudDirectory(DjangoUserDirectory):
    """Finds the accounts, and then says in an exception whom it found."""

    def get_many(self, refs: Collection[str]) -> Mapping[str, Account]:
        for account in super().get_many(refs).values():
            raise LookupError(f"{account.ref} {account.email} {account.phone} {account.state}")
        return {}
