"""``manage.py sms_segments``: what a text costs as an SMS, and which character makes it dear."""

from __future__ import annotations

import sys
import unicodedata
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from notifications.sms.segmentation import InvalidSmsText, count, normalized
from notifications.sms.typography import plain_if_gsm7


class Command(BaseCommand):
    """Prints encoding, units, segments, bucket and the character that forces UCS-2."""

    help = "Print how many SMS segments a text takes, and which character forces UCS-2."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "text", help="the text, or - to read it from standard input (without its last line end)"
        )
        parser.add_argument(
            "--plain", action="store_true", help="after the typographic fallback, as messages are sent"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        text = _standard_input() if options["text"] == "-" else options["text"]
        try:
            sent = normalized(text)
        except InvalidSmsText as error:
            raise CommandError(_explained(error)) from error
        sent = plain_if_gsm7(sent) if options["plain"] else sent
        found = count(sent)
        self.stdout.write(f"encoding  {found.encoding}")
        self.stdout.write(f"units     {found.units}")
        self.stdout.write(f"segments  {found.segments}")
        self.stdout.write(f"bucket    {found.bucket}")
        self.stdout.write(f"forced by {_named(found.forcing, sent)}")


def _standard_input() -> str:
    try:
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"Standard input is not {error.encoding} from byte {error.start} on: "
            "convert the text, or set PYTHONIOENCODING to its encoding."
        ) from None


def _explained(error: InvalidSmsText) -> str:
    # PEP 383: a byte that could not be decoded arrives as one of these code points.
    if 0xDC80 <= error.code_point <= 0xDCFF:
        return (
            f"The byte 0x{error.code_point - 0xDC00:02X} at position {error.position} (counted from 0) is "
            f"not {sys.getfilesystemencoding()}: convert the text to that encoding."
        )
    return str(error)


def _named(forcing: str | None, text: str) -> str:
    """The character by number and name: a terminal may be unable to show it."""
    if forcing is None:
        return "nothing: every character is in the 7-bit alphabet"
    name = unicodedata.name(forcing, "without a name")
    return f"U+{ord(forcing):04X} {name} at position {text.index(forcing)} (counted from 0)"
