"""A provider to test and demonstrate against: real SMTP, the HTTP forms of Twilio, Vonage,
AWS End User Messaging, Postmark and our own, and an inbox page.

Standard library only; listens on the loopback address only. Run it with
``python -m notifications.testing.provider``, or in the test's own process::

    with FakeProvider(store=path) as provider:
        provider.faults.add(Fault(channel="email", behaviour="reply", phase="rcpt", code=450))
        ...
        assert provider.store.count(channel="email") == 1
"""

from __future__ import annotations

from notifications.testing.provider.faults import Behaviour, Fault
from notifications.testing.provider.server import FakeProvider
from notifications.testing.provider.store import Store, Submission

__all__ = ["Behaviour", "FakeProvider", "Fault", "Store", "Submission"]
