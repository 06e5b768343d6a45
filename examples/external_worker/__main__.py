"""``python -m examples.external_worker``: work until interrupted. Configured by its environment.

``INTERNAL_URL`` and ``API_KEY`` (a key with the scope ``work:claim``); for email ``SMTP_HOST`` and
``SMTP_PORT``; for SMS ``TWILIO_URL``, ``TWILIO_SID``, ``TWILIO_TOKEN`` and ``TWILIO_FROM``. What is
not set is not claimed. ``LEASE_SECONDS`` and ``WORKER_ID`` as in ``docs/external-workers.md``.
"""

from __future__ import annotations

import logging
import os
import time

from django.conf import settings

from examples.external_worker.boundary import Boundary, TryAgain
from examples.external_worker.worker import Worker
from notifications.email.smtp import SmtpTransport
from notifications.sms.twilio import TwilioTransport
from notifications.transport import Transport

#: Each call counts for ``API_CALLS_PER_MINUTE``.
IDLE_SECONDS = 1.0


def transports() -> dict[str, Transport]:
    """This worker's own providers, by channel."""
    found: dict[str, Transport] = {}
    if host := os.environ.get("SMTP_HOST"):
        found["email"] = SmtpTransport(
            host=host,
            port=int(os.environ["SMTP_PORT"]),
            tls=os.environ.get("SMTP_TLS", "starttls"),
            from_address=os.environ.get("EMAIL_FROM", "no-reply@shop.example"),
        )
    if url := os.environ.get("TWILIO_URL"):
        found["sms"] = TwilioTransport(
            base_url=url,
            account_sid=os.environ["TWILIO_SID"],
            auth_token=os.environ["TWILIO_TOKEN"],
            from_number=os.environ["TWILIO_FROM"],
        )
    return found


def main() -> None:
    # The email transport looks at a Django project's mail settings for what it is not told; here are none.
    settings.configure()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    worker = Worker(
        boundary=Boundary(url=os.environ["INTERNAL_URL"], key=os.environ["API_KEY"]),
        transports=transports(),
        worker_id=os.environ.get("WORKER_ID", f"pid-{os.getpid()}"),
        lease_seconds=float(os.environ.get("LEASE_SECONDS", "30")),
    )
    logging.info("working")
    while True:
        try:
            idle = IDLE_SECONDS if worker.run_once() == 0 else 0.0
        except TryAgain as later:
            # What is held by now comes back when its lease is over.
            logging.warning("no answer: %s", later)
            idle = later.wait_seconds
        time.sleep(idle)


if __name__ == "__main__":
    main()
