from __future__ import annotations

import re
from pathlib import Path

import pytest

from resetdelivery.domain.states import TRANSITIONS, DeliveryState

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_picture_of_the_states_shows_exactly_the_transition_table() -> None:
    text = (ROOT / "docs" / "delivery-semantics.md").read_text()
    drawn = set(re.findall(r"^ {4}(\w+) --> (\w+)", text, re.MULTILINE))
    pairs = {(before.value, after.value) for before, afters in TRANSITIONS.items() for after in afters}
    assert drawn == pairs


def test_a_delivery_begins_waiting_or_pending_and_nowhere_else() -> None:
    text = (ROOT / "docs" / "delivery-semantics.md").read_text()
    starts = set(re.findall(r"^ {4}\[\*\] --> (\w+)", text, re.MULTILINE))
    assert starts == {DeliveryState.WAITING.value, DeliveryState.PENDING.value}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_of_this_repository_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []
