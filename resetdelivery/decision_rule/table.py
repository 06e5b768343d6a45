"""The decision rule as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from resetdelivery.conf import Dispatch, Settings
from resetdelivery.decision_rule.measured import MOST_UNTRIED
from resetdelivery.decision_rule.rule import ChannelRule, DecisionRule, Proof
from resetdelivery.decision_rule.timeline import drawn
from resetdelivery.decision_rule.way import ASKED_FOR, Term, Way

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
    where = [one.way.channel.value for one in rule.channels if not one.holds]
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
    if way.life.source == ASKED_FOR:
        yield from _wrapped(
            "It counts for as long as it is within --window, though LIFETIME may have been raised since; "
            "MIN_LIFETIME refuses such a one from now on.",
            width,
        )
    yield ""
    yield _row("seconds", "normal", "worst") + "  from"
    for term in way.terms.values():
        yield from _term(term, width)
    yield ""
    yield from _attempts(way)
    yield ""
    yield from drawn(worst, width)
    yield ""
    for sentence in (*_sentences(way, settings), *_happened(one), _left_out(way)):
        yield from _wrapped(sentence, width)
    for other in one.others:
        yield from _wrapped(_other(other), width)
    yield from _mends(one, width)


def _mends(one: ChannelRule, width: int) -> Iterator[str]:
    for mend in one.mends:
        yield from _wrapped(f"{mend.sentence()}.", width)
    if not one.fits and not one.mends:
        yield "No single setting is enough: change several."


def _term(term: Term, width: int) -> Iterator[str]:
    start = _row(term.what, _n(term.normal), _n(term.worst)) + "  "
    return iter(textwrap.wrap(term.origin, width, initial_indent=start, subsequent_indent=" " * len(start)))


def _attempts(way: Way) -> Iterator[str]:
    yield _row("attempt", "rest", "normal", "starts", "worst", "left")
    for number in way.worst.shown:
        worst = way.worst.needed_seconds(number)
        yield _row(
            str(number),
            _n(way.worst.rest_seconds(number - 1)) if number > 1 else "-",
            _n(way.normal.needed_seconds(number)),
            _n(way.worst.start_seconds(number)),
            _n(worst),
            _n(way.worst.useful_seconds - worst),
        )
    if (more := way.worst.tries - len(way.worst.shown)) > 0:
        yield f"and {more:,} more that are not shown"


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


def _happened(one: ChannelRule) -> Iterator[str]:
    """What the other channels and the rows of the window add to the rule."""
    fallback, untried = one.way.fallback, one.untried
    if fallback is not None:
        behind = " and ".join(fallback.behind)
        counted = f"{one.waited:,} waited so, and it counts" if one.waited else "none waited so"
        yield (
            f"As a fallback behind {behind}, up to {_s(fallback.seconds)} later (FALLBACK_AFTER): "
            f"{fallback.worst.fitting} of {one.way.max_attempts} attempts fit; {counted}."
        )
    if untried is not None:
        most = f"; the rule allows {MOST_UNTRIED:.0%}" if untried.number else ""
        yield f"{untried.number:,} of {untried.of:,} expired before an attempt, within the window{most}."


def _left_out(way: Way) -> str:
    """What no setting bounds, and no case holds."""
    if way.boundary is Dispatch.INLINE:
        return "Not in the worst case: other callers' requests on the channel."
    waves = (
        f"earlier waves of a full batch (up to {way.earlier.waves} of {_s(way.earlier.seconds)} where a "
        "provider is slow; time-outs open its circuit), "
        if way.earlier.waves
        else ""
    )
    return (
        f"Not in the worst case: {waves}an outage that began before the request or outlasts a pause, and a "
        "provider's Retry-After."
    )


def _fit(way: Way) -> str:
    verb = "holds" if way.holds else "does not hold"
    dead = "after a dead worker, time-outs and pauses" if way.recovers else "with time-outs and pauses"
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
        f"A lost hint costs {_s(way.lost_hint_seconds)} (SWEEP_GRACE, a sweep, hint), or "
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
