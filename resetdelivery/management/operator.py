"""Who runs a command, for the audit trail."""

from __future__ import annotations

import getpass
import os

from resetdelivery.models import AuditEntry


def operator() -> str:
    """Who runs this, as the system knows them; a number where it has no name for them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    return name[: AuditEntry._meta.get_field("who").max_length]
