"""A project whose Celery app has other habits than ours in all that matters."""

from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403
from tests.hosts.bare import RESETDELIVERY

RESETDELIVERY = {**RESETDELIVERY, "DISPATCH": "broker"}
