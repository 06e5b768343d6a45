"""The SMS: what it costs, and what a phone makes of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from notifications.lint.characters import described, line_problems
from notifications.lint.report import WorstCase
from notifications.lint.text import link_problems
from notifications.sms.segmentation import Segmentation, count
from notifications.sms.typography import Typography, plain_if_gsm7


def segmentation(text: str, typography: Typography) -> Segmentation:
    """The segments of ``text`` as it would be sent."""
    sent = plain_if_gsm7(text) if typography is Typography.PLAIN else text
    return count(unicodedata.normalize("NFC", sent))


def sms_problems(text: str, worst: WorstCase) -> Iterator[str]:
    """What a carrier would split or refuse, or a phone would show otherwise than meant."""
    yield from line_problems(text)
    yield from link_problems(text, worst)
    if not text.startswith(worst.brand.name):
        yield "does not begin with {{ brand.name }}: a reader must see first who writes"
    lines = text.split("\n")
    # Phones make a preview, and fetch the address for it, of a link that begins or ends a message.
    if worst.link and worst.link in {lines[0], lines[-1]}:
        yield "begins or ends with the link: put it on a line in the middle, so that no phone fetches it"
    cost = segmentation(text, worst.typography)
    if cost.segments > worst.max_segments:
        yield _too_many(cost, worst.max_segments)


def _too_many(cost: Segmentation, allowed: int) -> str:
    forced = f"; {described(cost.forcing)} forces UCS-2" if cost.forcing else ""
    return (
        f"takes {cost.segments} segments ({cost.units} units of {cost.encoding.value}{forced}), "
        f"and {allowed} are allowed: shorten the text or the link, or raise the channel's MAX_SEGMENTS"
    )
