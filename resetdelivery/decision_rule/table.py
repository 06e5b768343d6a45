"""The decision rule as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from resetdelivery.conf import Dispatch, Settings
from resetdelivery.decision_rule.rule import ChannelRule, DecisionRule, Proof
from resetdelivery.decision_rule.terms import Term, Way
from resetdelivery.decision_rule.timeline import drawn
from resetdelivery.domain.retry import backoff_seconds

#: Narrower than this nothing can be read.
NARROWEST = 60
_NAME, _NUMBER = 18, 8
#: Between a number and its unit, until a line is wrapped.
_NO_BREAK = "\N{NO-BREAK SPACE}"


def report(rule: DecisionRule, settings: Settings, *, width: int) -> Iterator[str]:
    """All lines, none longer than ``width`` (60 at least)."""
    width = max(width, NARROWEST)
    yield from _wrapped(_measured(rule), width)
    for one in rule.channels:
        yield ""
        yield from _channel(one, settings, width)
    yield ""
    yield from _proof(rule, width)
    yield ""
    yield from _wrapped(verdict(rule), width)


def verdict(rule: DecisionRule) -> str:
    """The answer in one sentence."""
    if rule.holds:
        return "The decision rule holds."
    where = [one.way.channel.value for one in rule.channels if not one.way.holds]
    where += ["reconcile"] if rule.proof.differences else []
    where += ["telemetry_budget"] if rule.proof.passed else []
    return f"The decision rule does not hold: {', '.join(where)}."


def _measured(rule: DecisionRule) -> str:
    if rule.measured.since is None:
        return "By settings alone; nothing was measured."
    return f"By settings, and by what was measured since {rule.measured.since:%Y-%m-%d %H:%M} UTC."


def _channel(one: ChannelRule, settings: Settings, width: int) -> Iterator[str]:
    way, worst = one.way, one.way.worst
    yield f"{way.channel} at the boundary {way.boundary}"
    life = f"{_s(way.life.seconds)} ({way.life.source})"
    useful = f"{_s(worst.useful_seconds)} are useful (MIN_USEFUL is {_s(worst.policy.min_useful_seconds)})"
    yield from _wrapped(f"The shortest life admitted is {life}; {useful}.", width)
    yield ""
    yield _row("seconds", "normal", "worst") + "  from"
    for term in way.terms.values():
        yield from _term(term, width)
    yield ""
    yield from _attempts(way)
    yield ""
    yield from drawn(worst, width)
    yield ""
    for sentence in _sentences(way, settings):
        yield from _wrapped(sentence, width)
    for other in one.others:
        yield from _wrapped(_other(other), width)
    yield from _mends(one, width)


def _mends(one: ChannelRule, width: int) -> Iterator[str]:
    for mend in one.mends:
        yield from _wrapped(f"{mend.sentence()}.", width)
    if not one.way.holds and not one.mends:
        yield "No single setting is enough: change several."


def _term(term: Term, width: int) -> Iterator[str]:
    start = _row(term.what, _n(term.normal), _n(term.worst)) + "  "
    return iter(textwrap.wrap(term.origin, width, initial_indent=start, subsequent_indent=" " * len(start)))


def _attempts(way: Way) -> Iterator[str]:
    yield _row("attempt", "backoff", "normal", "starts", "worst", "left")
    for number in range(1, way.worst.tries + 1):
        worst = way.worst.needed_seconds(number)
        backoff = _n(backoff_seconds(way.worst.policy, number - 1)) if number > 1 else "-"
        yield _row(
            str(number),
            backoff,
            _n(way.normal.needed_seconds(number)),
            _n(way.worst.start_seconds(number)),
            _n(worst),
            _n(way.worst.useful_seconds - worst),
        )


def _sentences(way: Way, settings: Settings) -> Iterator[str]:
    yield _fit(way)
    yield (
        f"The last attempt that can help starts {_s(way.worst.last_start_seconds)} after the request, "
        f"{_s(way.life.seconds - way.worst.last_start_seconds)} before the expiry."
    )
    if way.boundary is Dispatch.INLINE:
        yield "inline retries nothing and recovers nothing by itself: both wait for the next request."
        return
    if not way.recovers:
        yield f"RECOVERY is {settings.recovery}: what a dead worker held is never put back."
    else:
        yield f"A dead worker costs {_s(way.terms['recovery_seconds'].worst)}, which is in the worst case."
    yield _lost_hint(way, settings)


def _fit(way: Way) -> str:
    verb = "holds" if way.holds else "does not hold"
    dead = "after a dead worker and time-outs" if way.recovers else "with time-outs"
    return (
        f"The rule {verb}: {way.worst.fitting} of {way.max_attempts} attempts fit {dead}, "
        f"{way.normal.fitting} where no worker dies and failures come at once."
    )


def _lost_hint(way: Way, settings: Settings) -> str:
    if way.boundary is Dispatch.DATABASE:
        return "No hint can be lost: the poller looks every POLL_INTERVAL."
    if way.lost_hint_seconds is None:
        return f"RECOVERY is {settings.recovery}: nobody tells again of a row whose hint was lost."
    after, both = way.after_lost_hint()
    return (
        f"A lost hint costs {_s(way.lost_hint_seconds)} (SWEEP_GRACE, SWEEP_INTERVAL, hint), or "
        f"{_s(settings.fill_after.total_seconds())} where another task comes by (FILL_AFTER). After it "
        f"{after} attempts fit, after it and a dead worker {both}."
    )


def _other(way: Way) -> str:
    """A boundary that was not asked for, in a line."""
    fit = f"At the boundary {way.boundary} {way.worst.fitting} of {way.max_attempts} attempts would fit"
    if way.boundary is Dispatch.INLINE:
        return f"{fit}; what a dead process held is lost until the next request."
    dead = _s(way.worst.recovery_seconds) if way.recovers else "the reset"
    hint = "the reset" if way.lost_hint_seconds is None else _s(way.lost_hint_seconds)
    lost = "it needs no hints" if way.boundary is Dispatch.DATABASE else f"a lost hint costs {hint}"
    return f"{fit}; a dead worker costs {dead}, {lost}."


def _proof(rule: DecisionRule, width: int) -> Iterator[str]:
    yield from _wrapped(_reconciled(rule.proof), width)
    for text in rule.proof.differences or ():
        yield from _wrapped(f"OFF {text}", width)
    passed = rule.proof.passed
    kept = len(rule.proof.ceilings) - len(passed)
    yield f"{kept} of {len(rule.proof.ceilings)} ceilings of telemetry are kept."
    for ceiling in passed:
        text = f"{ceiling.setting} is {ceiling.most:,.0f}; {ceiling.used:,.0f} or more would fit"
        yield from _wrapped(f"{text}: see 'manage.py telemetry_budget'.", width)


def _reconciled(proof: Proof) -> str:
    if proof.differences is None:
        return "Whether every attempt is accounted for was not looked at."
    if proof.differences:
        return f"{len(proof.differences)} differences between counts, states and attempts:"
    return "Every attempt is accounted for: counts, states and attempts agree."


def _wrapped(text: str, width: int) -> Iterator[str]:
    for line in textwrap.wrap(text, width, subsequent_indent="  "):
        yield line.replace(_NO_BREAK, " ")


def _row(name: str, *cells: str) -> str:
    return name.ljust(_NAME) + "".join(cell.rjust(_NUMBER) for cell in cells)


def _n(seconds: float) -> str:
    return f"{seconds:.1f}"


def _s(seconds: float) -> str:
    return f"{seconds:,.1f}{_NO_BREAK}s"
