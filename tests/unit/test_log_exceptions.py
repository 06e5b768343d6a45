"""Exceptions in log lines: classes and places, never what they say."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from billiard.einfo import ExceptionInfo
from celery.utils.serialization import get_pickleable_exception, get_pickled_exception

from resetdelivery.exceptions import without_text
from resetdelivery.log_exceptions import MOST_EXCEPTIONS, MOST_FRAMES, described, exception_of

ADDRESS = "anna@shop.example"
HERE = r"unit/test_log_exceptions\.py:\d+"


def refuse(text: str = ADDRESS) -> None:
    raise LookupError(text)


def handle() -> None:
    try:
        refuse()
    except LookupError:
        refuse("another")


def cause() -> None:
    try:
        refuse()
    except LookupError as error:
        raise RuntimeError(ADDRESS) from error


def hide() -> None:
    try:
        refuse()
    except LookupError:
        raise RuntimeError(ADDRESS) from None


def group() -> None:
    raise ExceptionGroup(ADDRESS, [LookupError(ADDRESS), OSError(ADDRESS)])


def note() -> None:
    error = LookupError(ADDRESS)
    error.add_note(ADDRESS)
    raise error


def deep(levels: int = 20) -> None:
    if levels:
        deep(levels - 1)
    refuse()


def caught(step: Callable[[], None]) -> BaseException:
    try:
        step()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        (refuse, [rf"LookupError at {HERE} refuse < {HERE} caught"]),
        (note, [rf"LookupError at {HERE} note < {HERE} caught"]),
        (
            handle,
            [
                rf"LookupError at {HERE} refuse < {HERE} handle .*",
                rf"while handling LookupError at {HERE} .*",
            ],
        ),
        (cause, [rf"RuntimeError at {HERE} cause .*", rf"caused by LookupError at {HERE} refuse .*"]),
        (hide, [rf"RuntimeError at {HERE} hide .*"]),
        (
            group,
            [
                rf"ExceptionGroup at {HERE} group .*",
                "one of its group: LookupError",
                "one of its group: OSError",
            ],
        ),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_an_exception_is_its_class_and_its_innermost_frames(step: Any, lines: list[str]) -> None:
    text = described(caught(step))
    assert re.fullmatch("\n".join(lines), text), text
    assert ADDRESS not in text


def test_a_deep_stack_ends_after_some_frames() -> None:
    assert described(caught(deep)).count(" < ") == MOST_FRAMES - 1


def test_a_long_chain_ends_after_some_exceptions() -> None:
    error: Exception = LookupError()
    for _ in range(30):
        outer = RuntimeError()
        outer.__cause__ = error
        error = outer
    text = described(error)
    assert text.count("RuntimeError") == MOST_EXCEPTIONS
    assert text.endswith("\nand more")


def test_exceptions_that_lead_to_each_other_are_told_once() -> None:
    one, other = LookupError(), OSError()
    one.__cause__, other.__cause__ = other, one
    assert described(one) == "LookupError\ncaused by OSError"


def test_an_exception_of_a_package_is_named_with_its_module() -> None:
    from django.db import OperationalError

    assert described(OperationalError(ADDRESS)) == "django.db.utils.OperationalError"


def test_what_another_process_raised_is_told_as_if_it_was_here() -> None:
    try:
        refuse()
    except LookupError:
        info = pickle.loads(pickle.dumps(ExceptionInfo())).exc_info
    error = exception_of(info)
    assert error is not None
    assert error.__traceback__ is None
    assert re.match(rf"LookupError at {HERE} refuse < ", described(error, info[2]))


# The one exception whose words may be shown: they are a class and a place.


def failed_step() -> BaseException:
    return caught(lambda: without_text(refuse))


def test_a_failed_step_says_what_failed_and_where() -> None:
    said = r"\(LookupError in refuse \(test_log_exceptions\.py:\d+\)\)"
    assert re.match(rf"resetdelivery\.exceptions\.StepFailed {said} at ", described(failed_step()))


def test_it_says_so_also_as_celery_hands_it_on() -> None:
    handed_on = get_pickled_exception(get_pickleable_exception(cast("Exception", failed_step())))
    assert "(LookupError in refuse (test_log_exceptions.py:" in described(handed_on)


@pytest.mark.parametrize("words", [ADDRESS, f"LookupError in {ADDRESS} (a.py:1)", 3, None])
def test_other_words_of_such_an_exception_are_not_shown(words: object) -> None:
    error = failed_step()
    error.args = (words,)
    assert re.match(r"resetdelivery\.exceptions\.StepFailed at ", described(error))


@pytest.mark.parametrize("given", [None, False, (None, None, None), (1, 2), "text"])
def test_there_may_be_no_exception_at_all(given: object) -> None:
    assert exception_of(given) is None


def test_an_exception_is_found_in_either_form() -> None:
    error = caught(refuse)
    assert exception_of(error) is error
    assert exception_of((type(error), error, error.__traceback__)) is error
