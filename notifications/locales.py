"""Language tags: how they are written, where a locale falls back to, which way it is read.

Pure: standard library only.
"""

from __future__ import annotations

import re

#: The last resort of every locale, in which every version must have all its files.
DEFAULT_LOCALE = "en"

#: A tag's name as a folder's: no dots alone, no separators, nothing that leads elsewhere.
FOLDER_NAME = re.compile(r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\Z", re.ASCII)

# A reader of European Portuguese is better served by Brazilian than by English.
_STAND_INS = {"pt": "pt-BR"}
# Languages whose usual script runs from right to left (CLDR, characterOrder), and such scripts.
_RIGHT_TO_LEFT = {"ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"}
_RIGHT_TO_LEFT_SCRIPTS = {"Adlm", "Arab", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa"}
_SCRIPT_LENGTH = 4


def canonical(tag: str) -> str:
    """``pt_br`` → ``pt-BR``, ``zh-hant-tw`` → ``zh-Hant-TW``: the case of RFC 5646, section 2.1.1.

    Django writes its languages in lower case; folders on disk have one spelling.
    """
    language, *rest = tag.replace("_", "-").split("-")
    return "-".join([language.lower(), *map(_subtag, rest)])


def locale_candidates(locale: str) -> list[str]:
    """``pt-PT`` → ``pt-PT``, ``pt``, ``pt-BR``, ``en``: where templates are looked for, in order."""
    tag = canonical(locale)
    if not FOLDER_NAME.match(tag):
        return [DEFAULT_LOCALE]
    parts = tag.split("-")
    tags = ["-".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return list(dict.fromkeys([*tags, _STAND_INS.get(parts[0], DEFAULT_LOCALE), DEFAULT_LOCALE]))


def language_of(locale: str) -> str:
    """``pt-BR`` → ``pt``."""
    return canonical(locale).partition("-")[0]


def direction(locale: str) -> str:
    """``rtl`` or ``ltr``, as HTML's ``dir``; a script in the tag outweighs the language."""
    language, *rest = canonical(locale).split("-")
    scripts = [part for part in rest if len(part) == _SCRIPT_LENGTH and part.isalpha()]
    if scripts:
        return "rtl" if scripts[0] in _RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def _subtag(part: str) -> str:
    if len(part) == _SCRIPT_LENGTH and part.isalpha():
        return part.title()
    return part.upper() if len(part) == len("BR") else part.lower()
