"""A rendered SMS is validated before it is submitted."""

from __future__ import annotations

import datetime as dt

import pytest

from notifications.exceptions import InvalidMessage
from notifications.message import ResetContent, SmsMessage
from notifications.outcome import Reason
from notifications.rendering import Brand, render_sms
from notifications.sms.segmentation import Encoding, segment
from notifications.sms.typography import Typography
from tests.wire.samples import LINK, NOW


def sms(name: str, max_segments: int = 3, typography: Typography = Typography.PLAIN) -> SmsMessage:
    return render_sms(
        to="+447911123456",
        content=ResetContent(
            link=LINK, expires_at=NOW + dt.timedelta(minutes=9), remaining=dt.timedelta(minutes=9)
        ),
        version="1",
        locale="en",
        brand=Brand(name=name, support=""),
        reference="r",
        max_segments=max_segments,
        typography=typography,
    )


def test_a_message_knows_how_many_segments_it_takes() -> None:
    message = sms("Shop")
    assert message.segments == segment(message.text).segments == 1
    assert sms("S" * 160).segments == 2


def test_more_segments_than_the_cap_are_an_invalid_message() -> None:
    assert sms("S" * 200, max_segments=3).segments == 3
    with pytest.raises(InvalidMessage) as caught:
        sms("S" * 200, max_segments=2)
    assert caught.value.reason is Reason.INVALID_MESSAGE


@pytest.mark.parametrize("control", ["\x00", "\t", "\x0b", "\x1b", "\x7f", "\x85", "\ud83d"])
def test_a_control_character_is_an_invalid_message(control: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        sms(f"Shop{control}e")
    assert caught.value.reason is Reason.INVALID_MESSAGE
    assert caught.value.__cause__ is None


def test_a_decomposed_letter_is_sent_composed() -> None:
    assert "Caf\u00e9:" in sms("Cafe\u0301").text


def test_typography_is_made_plain_where_that_saves_a_segment() -> None:
    message = sms("Ann\u2019s\u00a0Shop")
    assert "Ann's Shop" in message.text
    assert segment(message.text).encoding is Encoding.GSM7


def test_typography_can_be_kept_as_written() -> None:
    message = sms("Ann\u2019s\u00a0Shop", typography=Typography.AS_WRITTEN)
    assert "Ann\u2019s\u00a0Shop" in message.text
    assert (segment(message.text).encoding, message.segments) == (Encoding.UCS2, 3)


def test_a_message_that_letters_make_ucs2_keeps_its_typography() -> None:
    assert "S\u0142odki\u2019" in sms("S\u0142odki\u2019").text


def test_the_link_goes_through_unchanged() -> None:
    assert LINK in sms("Ann\u2019s").text.splitlines()
