"""What is kept no longer than it is of use: the policy, the purge that keeps it, a report on what is held.

``manage.py purge`` and ``manage.py retention_report`` are this package's commands.
"""

from __future__ import annotations

from resetdelivery.retention.purge import Purged, purge

__all__ = ["Purged", "purge"]
