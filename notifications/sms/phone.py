"""Phone numbers: strict where one is entered, lenient where one is stored, one key for limits.

What leaves this module is E.164 as ``phonenumbers`` writes it, never the text that came in. Its
metadata says what a numbering plan allows, not whether anybody can be reached there; and plans
change, so a number that was verified once is refused for what the metadata says today only where it
is of a kind that costs its sender or reaches no phone.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Collection, Iterable

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat, PhoneNumberType

_E164 = re.compile(r"\+[1-9][0-9]{6,14}\Z", re.ASCII)
_ENTERED = re.compile(r"(?P<plus>[+\uff0b]*)\d+")
_EXTENSION = re.compile(r"\d\W*(?:ext(?:ension|n)?|x|#)\W*\d", re.IGNORECASE)
# Mexico dropped the 1 of its mobile numbers in 2019; Argentina keeps the 9 for calls from abroad.
_LEGACY_MEXICO = re.compile(r"\+521(?P<rest>[0-9]{10})\Z", re.ASCII)
_MOBILE_ARGENTINA = re.compile(r"\+549(?P<rest>[0-9]{10})\Z", re.ASCII)

#: What stands between digits: Unicode's spaces, dashes, brackets, and marks without width that
#: come along when a number is copied from a page or an address book.
_SEPARATOR_CATEGORIES = frozenset({"Zs", "Pd", "Ps", "Pe", "Cf"})
_SEPARATORS = frozenset("./\uff0e\uff0f")

_TEXTABLE = frozenset({PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE})
_NO_COUNTRY_REGIONS = frozenset({None, "001"})
#: Somebody else earns from these, or they are no phone that shows a text. Fixed lines are not among
#: them: their providers read texts out, or refuse them.
_NEVER_TEXTED = frozenset(
    {
        PhoneNumberType.PREMIUM_RATE,
        PhoneNumberType.SHARED_COST,
        PhoneNumberType.PERSONAL_NUMBER,
        PhoneNumberType.TOLL_FREE,
        PhoneNumberType.VOIP,
        PhoneNumberType.PAGER,
        PhoneNumberType.UAN,
        PhoneNumberType.VOICEMAIL,
    }
)
#: Digits of a range, its calling code among them, and those of a number that are never part of it.
_RANGE_DIGITS = 7
_OWN_DIGITS = 4


class NumberReason(enum.StrEnum):
    """Why a number was refused."""

    CHARACTERS = "characters"
    EXTENSION = "extension"
    NO_COUNTRY = "no_country"
    NOT_A_NUMBER = "not_a_number"
    REGION = "region"
    KIND = "kind"


_SENTENCES = {
    NumberReason.CHARACTERS: "a phone number is digits after one plus sign, perhaps with spaces, "
    "hyphens or brackets: leave out letters and everything else.",
    NumberReason.EXTENSION: "a text message cannot reach an extension: give a mobile number.",
    NumberReason.NO_COUNTRY: "it does not say its country: begin with a plus sign and the country code.",
    NumberReason.NOT_A_NUMBER: "no country's numbering plan has it: check its digits.",
    NumberReason.REGION: "text messages are not sent to its country: give another number.",
    NumberReason.KIND: "it is not a mobile number: give one that receives text messages.",
}


class InvalidNumber(ValueError):
    """A number that is refused, for a typed ``reason``; the number itself is not in the text."""

    def __init__(self, reason: NumberReason) -> None:
        super().__init__(f"This phone number cannot be used: {_SENTENCES[reason]}")
        self.reason = reason


def is_e164(number: str) -> bool:
    """Whether ``number`` has the form of ITU-T E.164 with its plus sign: at most 15 digits."""
    return _E164.match(number) is not None


def entered_number(
    text: str, *, region: str | None = None, allowed_regions: Collection[str] | None = None
) -> str:
    """The E.164 form of a number that a person has just typed, if a text message may go there.

    Without a plus sign it is read as dialled in ``region`` (ISO 3166, such as "GB") and refused if
    there is none. ``allowed_regions`` are where messages may go; ``None`` means every country.
    Refused with :class:`InvalidNumber` are letters, extensions, numbers that no plan has, short
    codes, numbers of no country (satellite, international), and whatever is no mobile number
    (premium, personal, toll-free, fixed). ``ValueError`` for a region that does not exist.
    """
    _check_regions([*([] if region is None else [region]), *(allowed_regions or ())])
    number = _parsed(_entered_digits(text, region), region)
    if number is None or not phonenumbers.is_valid_number(number):
        raise InvalidNumber(NumberReason.NOT_A_NUMBER)
    found = phonenumbers.region_code_for_number(number)
    if found in _NO_COUNTRY_REGIONS or (allowed_regions is not None and found not in allowed_regions):
        raise InvalidNumber(NumberReason.REGION)
    if not _takes_texts(number, found):
        raise InvalidNumber(NumberReason.KIND)
    return _e164(number)


def stored_number(text: str) -> str:
    """The E.164 form of a number that was verified when it was stored.

    Visual separators, a trunk zero and Mexico's legacy 1 are taken out; a number that today's
    numbering plans do not have stays as it is. :class:`InvalidNumber` only for what is no
    international number at all.
    """
    digits = _without_separators(text)
    if not digits.startswith("+"):
        raise InvalidNumber(NumberReason.NO_COUNTRY)
    if not is_e164(digits):
        raise InvalidNumber(NumberReason.CHARACTERS)
    digits = _without_legacy_prefix(digits)
    number = _parsed(digits, None)
    return _e164(number) if number is not None and phonenumbers.is_valid_number(number) else digits


def limit_key(e164: str) -> str:
    """One key per subscriber, for limits: never dial it.

    Argentina's mobiles have two valid numbers, with a 9 after the country code and without it, and
    Mexico's old form is still around. :class:`InvalidNumber` for what is not E.164.
    """
    if not is_e164(e164):
        raise InvalidNumber(NumberReason.CHARACTERS)
    return _MOBILE_ARGENTINA.sub(r"+54\g<rest>", _without_legacy_prefix(e164))


def number_range(e164: str) -> str:
    """The leading digits, at most seven, that a number shares with at least 9,999 others.

    Numbers that an attacker holds come in ranges. :class:`InvalidNumber` for what is not E.164.
    """
    digits = limit_key(e164).removeprefix("+")
    return digits[: min(_RANGE_DIGITS, len(digits) - _OWN_DIGITS)]


def region_of(e164: str) -> str:
    """The country of a stored number (ISO 3166), the largest of its calling code's if it has none.

    "ZZ" for what is no number, "001" for numbers of no country.
    """
    number = _parsed(e164, None)
    if number is None:
        return "ZZ"
    region = phonenumbers.region_code_for_number(number)
    return region or phonenumbers.region_code_for_country_code(number.country_code or 0)


def may_be_texted(e164: str) -> bool:
    """Whether a stored number is not of a kind that a text message never goes to.

    Those are premium and shared-cost numbers, personal, toll-free and VoIP ones, pagers, and
    numbers of no country. A number that today's metadata does not know may be texted.
    """
    number = _parsed(e164, None)
    if number is None:
        return True
    if region_of(e164) in _NO_COUNTRY_REGIONS:
        return False
    return phonenumbers.number_type(number) not in _NEVER_TEXTED


def is_in_regions(e164: str, regions: Collection[str]) -> bool:
    """Whether a stored number belongs to one of ``regions`` (ISO 3166).

    By the number itself and not by its calling code, which up to 25 countries share; a number that
    today's metadata does not know counts as one of its calling code's.
    """
    number = _parsed(e164, None)
    if number is None:
        return False
    region = phonenumbers.region_code_for_number(number)
    found = [region] if region else phonenumbers.region_codes_for_country_code(number.country_code or 0)
    return any(candidate in regions for candidate in found)


def unknown_regions(regions: Iterable[str]) -> list[str]:
    """Those of ``regions`` that are no ISO 3166 code of a country with a numbering plan, sorted."""
    return sorted({region for region in regions if region not in phonenumbers.SUPPORTED_REGIONS})


def _check_regions(regions: Iterable[str]) -> None:
    if unknown := unknown_regions(regions):
        raise ValueError(
            f"{unknown[0]!r} is no region with phone numbers of its own: "
            "use a two-letter ISO 3166 code in capitals, such as 'GB'."
        )


def _entered_digits(text: str, region: str | None) -> str:
    digits = _without_separators(text)
    match = _ENTERED.fullmatch(digits)
    if match is None:
        is_extension = _EXTENSION.search(text) is not None
        raise InvalidNumber(NumberReason.EXTENSION if is_extension else NumberReason.CHARACTERS)
    if not match["plus"] and region is None:
        raise InvalidNumber(NumberReason.NO_COUNTRY)
    return _without_legacy_prefix(digits)


def _without_separators(text: str) -> str:
    return "".join(char for char in text.strip() if not _separates(char))


def _separates(char: str) -> bool:
    return char in _SEPARATORS or unicodedata.category(char) in _SEPARATOR_CATEGORIES


def _without_legacy_prefix(digits: str) -> str:
    return _LEGACY_MEXICO.sub(r"+52\g<rest>", digits)


def _parsed(digits: str, region: str | None) -> PhoneNumber | None:
    try:
        return phonenumbers.parse(digits, region)
    except NumberParseException:
        return None


def _takes_texts(number: PhoneNumber, region: str | None) -> bool:
    kind = phonenumbers.number_type(number)
    # Without its 9, an Argentine mobile looks like a fixed line.
    return kind in _TEXTABLE or (region == "AR" and kind == PhoneNumberType.FIXED_LINE)


def _e164(number: PhoneNumber) -> str:
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)
