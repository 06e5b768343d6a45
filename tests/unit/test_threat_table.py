"""Each threat of docs/threats.md is proven by tests that exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROOF = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[list[str]]:
    """The cells of each row of the table: number, asset, threat, control, proofs."""
    lines = (ROOT / "docs" / "threats.md").read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if re.match(r"\| \d", line)
    ]


@functools.cache
def functions(file: str) -> frozenset[str]:
    """Names of the functions of a file."""
    path = ROOT / file
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module(body=[], type_ignores=[])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_there_are_twenty_eight_threats_numbered_from_one() -> None:
    assert [row[0] for row in rows()] == [str(number) for number in range(1, 29)]


def test_no_threat_is_listed_twice() -> None:
    assert len({(row[1], row[2]) for row in rows()}) == len(rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}-{row[2]}".replace(" ", "-"))
def test_each_threat_names_a_control_and_tests_that_exist(row: list[str]) -> None:
    number, asset, threat, control, proofs = row
    assert asset
    assert threat
    assert control
    named = PROOF.findall(proofs)
    assert named, f"row {number} names no test"
    assert [f"{file}::{name}" for file, name in named if name not in functions(file)] == []
    assert not PROOF.sub("", proofs).replace("<br>", "").strip(), "only tests stand in the last column"
    assert all(name.startswith("test_") for _, name in named)


@pytest.mark.parametrize("file", sorted((ROOT / "tests" / "threats").glob("test_*.py")), ids=lambda f: f.stem)
def test_each_file_of_proofs_proves_something_in_the_table(file: Path) -> None:
    named = {proof for row in rows() for proof, _ in PROOF.findall(row[4])}
    assert str(file.relative_to(ROOT)) in named
