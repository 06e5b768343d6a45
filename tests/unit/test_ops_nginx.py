"""``ops/nginx/link-log.conf``: its patterns, on links as this project makes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CONFIGURATION = (Path(__file__).resolve().parents[2] / "ops/nginx/link-log.conf").read_text()
TOKEN = "1dzk2f-" + 32 * "a"
SECOND = "2eal3g-" + 32 * "b"
#: A pattern and what is logged in its place; nginx's names are Python's but for the P.
MAPS = re.findall(r'^    "~(\S+)" "(\S+)";$', CONFIGURATION, re.MULTILINE)


def logged(text: str, pattern: str, replacement: str) -> str:
    """What nginx's ``map`` gives for ``text``."""
    found = re.match(re.sub(r"\(\?<(?=[a-z])", "(?P<", pattern), text)
    return text if found is None else re.sub(r"\$\{(\w+)\}", lambda name: found[name[1]], replacement)


def test_the_request_and_the_referer_have_a_pattern_each() -> None:
    assert len(MAPS) == 2


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"/accounts/reset/MQ/{TOKEN}/", "/accounts/reset/[link]"),
        (f"/r/NDc/{TOKEN}?from=mail", "/r/[link]"),
        (f"https://shop.example/reset/MQ/{TOKEN}/", "https://shop.example/reset/[link]"),
        # Where the token is, once it was moved to the session.
        ("/accounts/reset/MQ/set-password/", "/accounts/reset/[link]"),
        ("/accounts/reset/MQ/set-password?next=/", "/accounts/reset/[link]"),
        # A second one, in front or behind, with its account or without, encoded once or twice.
        (f"/reset/MQ/{TOKEN}/?next=/reset/NDc/{SECOND}/", "/reset/[link]"),
        (f"/reset/MQ/set-password/?next=/reset/NDc/{SECOND}/", "/reset/[link]"),
        (f"/?token={TOKEN}&next=/reset/NDc/{SECOND}/", "/?token=[link]"),
        (f"/login/?next=%2Freset%2FNDc%2F{TOKEN}%2F", "/login/?next=%2Freset%[link]"),
        (f"/login/?next=%252freset%252fNDc%252f{TOKEN}", "/login/?next=%252freset%[link]"),
        (f"/NDc_-{TOKEN}", "/NDc_-[link]"),
        ("/account/set-password-now/", "/account/set-password-now/"),
        ("/set-password/", "/set-password/"),
        ("/goods/1-2/", "/goods/1-2/"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_a_log_line_holds_no_link(number: int, text: str, expected: str) -> None:
    assert logged(text, *MAPS[number]) == expected
