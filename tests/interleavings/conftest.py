from __future__ import annotations

import pytest

from notifications.channels import Channel
from resetdelivery.models import ChannelControl


@pytest.fixture(autouse=True)
def _on_postgres(postgres_only: None, transactional_db: None) -> None:
    """Everything here needs two writers at once, and channels that have been claimed from before."""
    for channel in Channel:
        ChannelControl.objects.get_or_create(channel=channel.value)
