"""Phone numbers: what is refused at entry, what is kept once stored, and one key for limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.sms.phone import (
    InvalidNumber,
    NumberReason,
    entered_number,
    is_e164,
    is_in_regions,
    limit_key,
    may_be_texted,
    number_range,
    region_of,
    stored_number,
    unknown_regions,
)


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("+447911123456", None, "+447911123456"),
        ("447911123456", "GB", "+447911123456"),
        ("07911 123456", "GB", "+447911123456"),
        ("00447911123456", "GB", "+447911123456"),
        ("+447911123456", "DE", "+447911123456"),  # the plus sign wins
        ("+44 (0)7911 123456", None, "+447911123456"),
        ("++447911123456", None, "+447911123456"),
        ("+447911123456\n", None, "+447911123456"),
        ("+44-7911.123/456", None, "+447911123456"),
        ("\u200e+44 7911\u00a0123\u2011456\u202c", None, "+447911123456"),
        ("+\u0664\u0664\u0667\u0669\u0661\u0661\u0661\u0662\u0663\u0664\u0665\u0666", None, "+447911123456"),
        ("+\u096a\u096a\u096d\u096f\u0967\u0967\u0967\u0968\u0969\u096a\u096b\u096c", None, "+447911123456"),
        ("\uff0b\uff14\uff14 7911 123456", None, "+447911123456"),
        ("+1 201 555 0123", None, "+12015550123"),  # fixed line or mobile: the plan does not say
        ("+39 347 123 4567", None, "+393471234567"),
        ("+5491123456789", None, "+5491123456789"),
        ("+541123456789", None, "+541123456789"),
        ("+54 11 15 2345 6789", None, "+5491123456789"),
        ("+52 1 55 1234 5678", None, "+525512345678"),
        ("+2250712345678", None, "+2250712345678"),
    ],
)
def test_a_mobile_number_is_written_as_e164(text: str, region: str | None, expected: str) -> None:
    assert entered_number(text, region=region) == expected


@pytest.mark.parametrize(
    ("text", "region", "reason"),
    [
        ("447911123456", None, NumberReason.NO_COUNTRY),
        (" 447911123456", None, NumberReason.NO_COUNTRY),  # a plus sign lost to form encoding
        ("00447911123456", None, NumberReason.NO_COUNTRY),
        ("+1-800-FLOWERS", None, NumberReason.CHARACTERS),
        ("+917878787xyz", None, NumberReason.CHARACTERS),
        ("call me on +447911123456 please", None, NumberReason.CHARACTERS),
        ("+447911123456\r\nBcc: x", None, NumberReason.CHARACTERS),
        ("+447911123456\n+447911123457", None, NumberReason.CHARACTERS),
        ("+447911123456 / +447911123457", None, NumberReason.CHARACTERS),
        ("+44\x007911123456", None, NumberReason.CHARACTERS),
        ("tel:+447911123456", None, NumberReason.CHARACTERS),
        ("", None, NumberReason.CHARACTERS),
        ("+", None, NumberReason.CHARACTERS),
        ("+44²7911123456", None, NumberReason.CHARACTERS),
        ("+1 212 555 0100 ext. 12", None, NumberReason.EXTENSION),
        ("+1 212 555 0100 x12", None, NumberReason.EXTENSION),
        ("+1 212 555 0100 (extension 12)", None, NumberReason.EXTENSION),
        ("+1 212 555 0100 #12", None, NumberReason.EXTENSION),
        ("+12125550100;ext=12", None, NumberReason.EXTENSION),
        ("12345", "US", NumberReason.NOT_A_NUMBER),
        ("911", "US", NumberReason.NOT_A_NUMBER),
        ("+44 7911 12345", None, NumberReason.NOT_A_NUMBER),
        ("+39 612345678", None, NumberReason.NOT_A_NUMBER),
        ("+22507123456", None, NumberReason.NOT_A_NUMBER),
        ("+999123456789", None, NumberReason.NOT_A_NUMBER),
        ("+" + "4" * 300, None, NumberReason.NOT_A_NUMBER),
        ("+881612345678", None, NumberReason.REGION),  # satellite
        ("+88213300655", None, NumberReason.REGION),  # international networks
        ("+883510012345678", None, NumberReason.REGION),
        ("+979123456789", None, NumberReason.REGION),  # international premium rate
        ("+80012345678", None, NumberReason.REGION),  # international toll-free
        ("+1 900 234 5678", None, NumberReason.KIND),  # premium rate
        ("+44 909 879 0123", None, NumberReason.KIND),
        ("+44 70 1234 5678", None, NumberReason.KIND),  # personal number, shared revenue
        ("+44 808 157 0000", None, NumberReason.KIND),  # toll-free
        ("+44 20 7946 0000", None, NumberReason.KIND),  # fixed line
        ("+39 06 12345678", None, NumberReason.KIND),
        ("+49 30 123456", None, NumberReason.KIND),
    ],
)
def test_what_no_text_message_should_go_to_is_refused(
    text: str, region: str | None, reason: NumberReason
) -> None:
    with pytest.raises(InvalidNumber) as caught:
        entered_number(text, region=region)
    assert caught.value.reason is reason


@pytest.mark.parametrize("reason", NumberReason)
def test_every_reason_says_what_to_do(reason: NumberReason) -> None:
    assert ": " in str(InvalidNumber(reason)).partition("used: ")[2]


def test_a_refusal_does_not_repeat_the_number() -> None:
    with pytest.raises(InvalidNumber) as caught:
        entered_number("+44 7911 12345")
    assert not any(char.isdigit() for char in str(caught.value))
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("allowed", "accepted"),
    [(None, True), ({"GG"}, True), ({"DE", "GG"}, True), ({"DE"}, False), (set(), False)],
)
def test_only_allowed_regions_are_accepted(allowed: set[str] | None, accepted: bool) -> None:
    # A Guernsey number: the country code is shared, the region is not.
    if accepted:
        assert entered_number("+447911123456", allowed_regions=allowed) == "+447911123456"
    else:
        with pytest.raises(InvalidNumber) as caught:
            entered_number("+447911123456", allowed_regions=allowed)
        assert caught.value.reason is NumberReason.REGION


@pytest.mark.parametrize("region", ["UK", "gb", "001", "GBR", ""])
def test_a_region_that_does_not_exist_is_the_callers_mistake(region: str) -> None:
    with pytest.raises(ValueError, match="ISO 3166") as caught:
        entered_number("+447911123456", region=region)
    assert not isinstance(caught.value, InvalidNumber)
    with pytest.raises(ValueError, match="ISO 3166"):
        entered_number("+447911123456", allowed_regions={"GG", region})


def test_unknown_regions_are_listed_for_a_settings_check() -> None:
    assert unknown_regions(["GB", "UK", "DE", "001"]) == ["001", "UK"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+447911123456", "+447911123456"),
        ("+44 (0)7911 123456", "+447911123456"),
        ("+4407911123456", "+447911123456"),
        (" +49 1522 881-7386\n", "+4915228817386"),
        ("+5215512345678", "+525512345678"),
        ("+52 1 55 1234 5678", "+525512345678"),
        ("+5491123456789", "+5491123456789"),
        ("+541123456789", "+541123456789"),
        ("+390612345678", "+390612345678"),
        # Not in today's plans: verified once, so kept to the digit.
        ("+22507123456", "+22507123456"),
        ("+44 7911 12345", "+44791112345"),
        ("+39 612345678", "+39612345678"),
        ("+999123456789", "+999123456789"),
        ("+6108529538", "+6108529538"),  # even where the metadata would drop a zero
        # Refused at entry, but somebody proved to receive texts there.
        ("+442079460000", "+442079460000"),
        ("+881612345678", "+881612345678"),
        ("+521551234567", "+521551234567"),  # a 1 that is not the legacy one: nine digits follow
    ],
)
def test_a_stored_number_is_kept_whatever_the_metadata_says(text: str, expected: str) -> None:
    assert stored_number(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "07911123456",
        "447911123456",
        "+",
        "+0447911123456",
        "+44 ext 7911",
        "+1234567890123456",
        "+123456",
    ],
)
def test_what_is_no_international_number_is_not_one_in_store_either(text: str) -> None:
    with pytest.raises(InvalidNumber) as caught:
        stored_number(text)
    assert not any(char.isdigit() for char in str(caught.value))


@pytest.mark.parametrize(
    ("number", "key"),
    [
        ("+5491123456789", "+541123456789"),
        ("+541123456789", "+541123456789"),
        ("+5215512345678", "+525512345678"),
        ("+525512345678", "+525512345678"),
        ("+447911123456", "+447911123456"),
        ("+12015550123", "+12015550123"),
        ("+549112345678", "+549112345678"),  # nine digits after the 9: not a mobile's form
    ],
)
def test_two_numbers_of_one_subscriber_have_one_key(number: str, key: str) -> None:
    assert limit_key(number) == key


@pytest.mark.parametrize("text", ["", "447911123456", "+44 7911 123456", "+44791112345６"])
def test_a_key_is_made_of_e164_only(text: str) -> None:
    with pytest.raises(InvalidNumber):
        limit_key(text)


NUMBERS = ["+447911123456", "+5491123456789", "+525512345678", "+12015550123", "+393471234567"]


@given(
    st.sampled_from(NUMBERS), st.lists(st.sampled_from(["", " ", "-", "\u00a0", "\u200e", "."]), min_size=14)
)
def test_an_accepted_number_is_the_same_however_it_is_spaced(number: str, gaps: list[str]) -> None:
    spaced = "".join(char + gap for char, gap in zip(number, gaps, strict=False))
    assert entered_number(spaced) == stored_number(spaced) == number


@given(st.text(alphabet="+0123456789 ()-.xe\u0661\u200e\n", max_size=24))
def test_nothing_but_e164_comes_out(text: str) -> None:
    for accept in (entered_number, stored_number):
        try:
            number = accept(text)
        except InvalidNumber:
            continue
        assert is_e164(number)
        assert stored_number(number) == number
        assert limit_key(limit_key(number)) == limit_key(number)


@pytest.mark.parametrize(
    ("number", "regions", "is_in"),
    [
        ("+4915112345678", ["DE"], True),
        ("+4915112345678", ["FR", "DE"], True),
        ("+4915112345678", ["FR"], False),
        # One calling code, several countries: Jamaica is +1 as well.
        ("+18765551234", ["US"], False),
        ("+18765551234", ["JM"], True),
        # No plan has it today, so its calling code decides.
        ("+22507123456", ["CI"], True),
        ("+22507123456", ["FR"], False),
        ("", ["DE"], False),
        ("+999123456789", ["DE"], False),
    ],
)
def test_a_stored_number_is_in_the_regions_of_its_country(
    number: str, regions: list[str], is_in: bool
) -> None:
    assert is_in_regions(number, regions) is is_in


@pytest.mark.parametrize(
    ("number", "digits"),
    [
        ("+4915112345001", "4915112"),
        ("+18765551234", "1876555"),
        ("+4712345678", "471234"),
        ("+29051234", "2905"),  # short numbers keep their last four digits to themselves, too
        ("+1234567", "123"),
        ("+5491123456789", "5411234"),  # with its 9 and without it, it is one subscriber
        ("+541123456789", "5411234"),
    ],
)
def test_a_range_is_what_a_number_shares_with_thousands(number: str, digits: str) -> None:
    assert number_range(number) == digits


def test_what_is_no_number_has_no_range() -> None:
    with pytest.raises(InvalidNumber):
        number_range("12345678")


@pytest.mark.parametrize(
    ("number", "region"),
    [
        ("+18765551234", "JM"),
        ("+12125551234", "US"),
        ("+4915112345001", "DE"),
        ("+8821234567890", "001"),
        ("+10000000000", "US"),  # nobody's: the largest country of its calling code
        ("rubbish", "ZZ"),
    ],
)
def test_the_region_is_that_of_the_number_and_not_of_its_calling_code(number: str, region: str) -> None:
    assert region_of(number) == region


@pytest.mark.parametrize(
    ("number", "may"),
    [
        ("+4915112345001", True),
        ("+12125551234", True),
        ("+5491123456789", True),
        ("+37166012345", True),  # a fixed line: its provider says what becomes of it
        ("+10000000000", True),  # unknown today
        ("+447012345678", False),  # personal
        ("+449098790000", False),  # premium
        ("+33899123456", False),
        ("+979123456789", False),
        ("+448451234567", False),  # shared cost
        ("+445612345678", False),  # VoIP
        ("+8821234567890", False),  # of no country
        ("+80012345678", False),
        ("+882999", False),
    ],
)
def test_numbers_of_some_kinds_get_no_text_message(number: str, may: bool) -> None:
    assert may_be_texted(number) is may
