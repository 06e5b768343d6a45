"""``manage.py check_dkim``: would a receiver believe who our mail is from?"""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from notifications.channels import Channel
from notifications.email.dkim_options import DkimSetup
from notifications.email.smtp import SmtpTransport
from notifications.message import EmailMessage
from resetdelivery.conf import get_settings
from resetdelivery.transports import get_transport


class Command(BaseCommand):
    """Looks at the configured transport: its keys, what is published of them, a message it signed.

    Exits with 1 if anything failed.
    """

    help = "Check that DKIM keys, published records, From and a signed sample fit together."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--record",
            metavar="FILE",
            action="append",
            default=[],
            type=Path,
            help="a published record instead of the DNS: the TXT value in a file that is named after its "
            "selector (2026a.txt), or a zone file's entry, which names it itself; may be repeated",
        )

    def handle(self, *_: Any, record: Sequence[Path], **__: Any) -> None:
        transport, setup = _transport()
        # Only importable where the extra is installed, and it is: there is a setup.
        from notifications.email import dkim_dns
        from notifications.email.dkim_inspection import Verdict, inspect

        records = _records(record, setup.signer.domain)
        findings = inspect(
            setup,
            from_domain=transport.sender.address.rpartition("@")[2],
            sample=transport.wire_bytes(_sample(transport.sender.address)),
            look_up=records.get if records else dkim_dns.look_up,
        )
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            self.stdout.write(f"{finding.subject:<{width}}  {finding.verdict:<7}  {finding.detail}")
        failed = sum(finding.verdict is Verdict.FAILED for finding in findings)
        if failed:
            raise CommandError(f"{failed} of {len(findings)} failed.")


def _transport() -> tuple[SmtpTransport, DkimSetup]:
    if Channel.EMAIL not in get_settings().channels:
        raise CommandError("RESETDELIVERY['CHANNELS'] has no 'email'.")
    try:
        transport = get_transport(Channel.EMAIL)
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from None
    if not isinstance(transport, SmtpTransport):
        raise CommandError("The email transport is not SmtpTransport: whoever gets the mail signs it.")
    if transport.dkim is None:
        raise CommandError(
            "Nothing is signed: RESETDELIVERY['CHANNELS']['email']['OPTIONS'] has no 'dkim'. "
            "See notifications.email.dkim_options."
        )
    return transport, transport.dkim


def _records(files: Sequence[Path], domain: str) -> Mapping[str, str]:
    """What the files publish, by full name."""
    from notifications.email.dkim_records import read_record, record_name

    records: dict[str, str] = {}
    for file in files:
        try:
            selector, value = read_record(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise CommandError(f"--record {file} cannot be read: {reason}.") from None
        records[record_name(selector or file.stem, domain)] = value
    return records


def _sample(address: str) -> EmailMessage:
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    return EmailMessage(
        to=address,
        subject="A sample that is signed and not sent",
        text="Words in ASCII, and some that are not: ключ, パスワード.\n",
        html="<p>ключ, パスワード</p>\n",
        message_id="<sample@localhost.invalid>",
        date=now,
        boundary="=_sample",
        expires_at=now + dt.timedelta(minutes=10),
    )
