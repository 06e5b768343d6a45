"""``manage.py rollout status|set|pause|resume|history``, as an operator and a script use it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from notifications.channels import Channel
from resetdelivery.cutover import turns
from resetdelivery.cutover.turns import ChannelsBusy
from resetdelivery.domain.rollout import Position
from resetdelivery.management.operator import operator
from resetdelivery.models import AuditEntry, ChannelControl
from tests.rollouts import put, ready, stands, trail
from tests.steps import pause

pytestmark = pytest.mark.django_db


def run(*arguments: str, code: int = 0) -> str:
    """What a run of the command prints; it must end with ``code``."""
    out = io.StringIO()
    if not code:
        call_command("rollout", *arguments, stdout=out)
        return out.getvalue()
    with pytest.raises(SystemExit) as ended:
        call_command("rollout", *arguments, stdout=out)
    assert ended.value.code == code
    return out.getvalue()


# set


def test_set_says_what_it_saw_and_moves_the_channel() -> None:
    put("shadow")
    ready()
    said = run("set", "email", "live", "--slice", "50", "--why", "week 2")
    assert (
        "ok      shadowed      30 shadows that would have been sent; wanted: at least 20 within 1 h" in said
    )
    assert said.endswith("email: shadow 1000 -> live 50, from the next admission on.\n")
    assert trail() == [(operator(), "rollout_set", "email: shadow 1000 -> live 50", "week 2")]


def test_a_refused_set_says_what_failed_and_how_to_override_and_exits_with_1() -> None:
    put("shadow")
    said = run("set", "email", "live", "--slice", "50", code=1)
    assert "not ok  shadowed      0 shadows that would have been sent; wanted: at least 20" in said
    assert said.endswith(
        "Refused: nothing was changed. To do it all the same, add --override --why 'a reason'.\n"
    )
    assert (stands(), trail()) == (Position("shadow", 1000), [])


def test_an_override_is_made_and_says_what_it_saw() -> None:
    put("shadow")
    said = run("set", "email", "live", "--override", "--why", "the old one ends")
    assert "not ok  first slice   1000 per mille" in said
    assert stands() == Position("live", 1000)
    assert AuditEntry.objects.get().why.startswith("override: the old one ends (")


def test_without_a_slice_live_is_for_everybody() -> None:
    put("live", 50)
    ready()
    run("set", "email", "live")
    assert stands() == Position("live", 1000)


def test_a_dry_run_says_the_same_and_changes_nothing() -> None:
    put("shadow")
    said = run("set", "email", "live", "--slice", "50", "--dry-run", code=1)
    assert "not ok  shadowed" in said
    ready()
    assert run("set", "email", "live", "--slice", "50", "--dry-run").endswith("Nothing was changed.\n")
    assert (stands(), trail()) == (Position("shadow", 1000), [])


def test_a_step_back_and_none_say_so() -> None:
    assert run("set", "email", "legacy") == "email: live 1000 -> legacy 1000, from the next admission on.\n"
    assert run("set", "email", "legacy") == "email: legacy 1000 already, nothing to do.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("set", "fax", "live"), "invalid choice: 'fax'"),
        (("set", "email", "canary"), "invalid choice: 'canary'"),
        (("set", "email", "live", "--slice", "many"), "invalid int value: 'many'"),
        (("set", "email", "live", "--slice", "0"), "A slice of 0 per mille is out of range; use 1 to 1000"),
        (("set", "email", "live", "--slice", "1001"), "A slice of 1001 per mille is out of range"),
        (("set", "email", "shadow", "--slice", "50"), "--slice is for 'live': 'shadow' is for all accounts"),
        (("set", "email", "live", "--override"), "An override needs a reason"),
        (("set", "all", "legacy"), "invalid choice: 'all'"),
        (("pause", "email"), "A pause needs a reason"),
        (("pause", "email", "--why", " "), "A pause needs a reason"),
        (("pause", "fax", "--why", "x"), "invalid choice: 'fax'"),
        (("pause", "email", "--why", "x" * 256), "why has 256 characters; 255 are allowed"),
        (("resume", "fax"), "invalid choice: 'fax'"),
        (("history", "--limit", "0"), "--limit is 0; use 1 or more"),
    ],
)
def test_a_callers_mistake_is_named_and_changes_nothing(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert says in str(caught.value)
    assert not ChannelControl.objects.exclude(paused=False, mode="live").exists()
    assert not AuditEntry.objects.exists()


# pause, resume, history


def test_pause_and_resume_say_what_they_did() -> None:
    assert run("pause", "email", "--why", "x") == (
        "email: paused; nothing more is sent, and what waits still expires\n"
    )
    assert run("pause", "email", "--why", "x") == "email: was paused already\n"
    assert run("resume", "email") == "email: resumed\n"
    assert run("resume", "email") == "email: was not paused\n"


def test_a_pause_that_must_wait_says_that_it_tries_again_and_then_what_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy = [True]

    def held_at_first(using: str) -> None:
        if busy and busy.pop():
            raise ChannelsBusy

    monkeypatch.setattr(turns, "_take_turn", held_at_first)
    monkeypatch.setattr(turns, "BETWEEN_TRIES_SECONDS", 0.01)
    first, second = run("pause", "email", "--why", "x").splitlines()
    assert first.startswith("Somebody holds the channels: ")
    assert first.endswith("Trying again for 30 s; not paused yet.")
    assert second == "email: paused; nothing more is sent, and what waits still expires"


@pytest.mark.parametrize("arguments", [("set", "email", "legacy"), ("resume", "email")])
def test_other_steps_give_up_at_once_where_somebody_holds_the_channels(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    tries: list[str] = []

    def held(using: str) -> None:
        tries.append(using)
        raise ChannelsBusy

    monkeypatch.setattr(turns, "_take_turn", held)
    with pytest.raises(CommandError, match=r"Somebody holds the channels .* nothing was changed"):
        run(*arguments)
    assert len(tries) == 1


def test_the_kill_switch_pauses_every_channel_and_is_taken_back_alike() -> None:
    run("pause", "all", "--why", "wrong links")
    assert set(ChannelControl.objects.values_list("channel", "paused")) == {(c.value, True) for c in Channel}
    assert run("resume", "all", "--why", "mended") == "email: resumed\nsms: resumed\n"
    assert not ChannelControl.objects.filter(paused=True).exists()
    assert [(action, target, why) for _, action, target, why in trail()] == [
        ("rollout_pause", "email", "wrong links"),
        ("rollout_pause", "sms", "wrong links"),
        ("rollout_resume", "email", "mended"),
        ("rollout_resume", "sms", "mended"),
    ]


def test_the_history_is_a_table_with_the_newest_step_at_the_top() -> None:
    run("set", "email", "shadow", "--why", "week 1")
    run("pause", "sms", "--why", "x")
    heading, newest, oldest = run("history").splitlines()
    assert heading.split() == ["when", "(UTC)", "who", "action", "target", "why"]
    assert newest.split("  ")[1:3] == [operator(), "rollout_pause"]
    assert oldest.endswith("email: live 1000 -> shadow 1000  week 1")
    assert len(run("history", "--limit", "1").splitlines()) == 2


# status


def status(channel: str = "email") -> dict[str, str]:
    """The lines about a channel, by name; those of the next step's preconditions are left out."""
    found: dict[str, str] = {}
    at = ""
    for line in run("status").splitlines():
        if not line.startswith(" "):
            at, _, place = line.partition(": ")
            found |= {"place": place} if at == channel else {}
        elif at == channel and not line.startswith("    "):
            name, _, text = line.strip().partition("  ")
            found[name] = text.strip()
    return found


@pytest.mark.parametrize(
    ("position", "place", "then"),
    [
        (("legacy", 1000), "legacy, the existing sender sends", "manage.py rollout set email shadow"),
        (
            ("shadow", 1000),
            "shadow, the existing sender sends, ours does all but that",
            "manage.py rollout set email live --slice 50",
        ),
        (("live", 50), "live, 50 per mille is ours", "manage.py rollout set email live --slice 200"),
        (("live", 1000), "live, all of it is ours", "nothing: all of it is ours"),
    ],
)
def test_a_status_names_place_and_next_step(position: tuple[str, int], place: str, then: str) -> None:
    put(*position)
    ready()
    found = status()
    assert (found["place"], found["next"]) == (place, then)


def test_the_next_step_of_a_status_can_be_run_as_it_stands() -> None:
    put("legacy")
    ready()
    for _ in range(3):
        run(*status()["next"].split()[2:])
    assert stands() == Position("live", 200)


def test_a_status_tells_a_pause_with_who_and_why() -> None:
    run("pause", "email", "--why", "wrong links")
    found = status()
    assert found["paused"].startswith(f"yes, by {operator()} since 2")
    assert found["paused"].endswith(": wrong links")
    assert (found["next"], status("sms")["paused"]) == ("manage.py rollout resume email", "no")


def test_a_status_tells_a_pause_by_a_configuration_error() -> None:
    ready()
    pause(pause_reason="misconfigured")
    found = status()
    assert (found["paused"], found["health"]) == ("yes, misconfigured", "failing: paused_misconfigured")


def test_a_status_tells_the_window_the_shadows_the_queue_and_recovery() -> None:
    put("shadow")
    ready()
    found = status()
    assert found["window"] == "last 1 h: 0 admitted"
    assert found["shadows"] == "30 would have been sent, 0 not"
    assert found["queue"] == "nothing is due, 95 % of 30 began within 1.0 s; the shortest life is 600 s"
    assert found["recovery"].startswith("RECOVERY is 'on'; 'observe' verified 2")
    assert status("sms")["recovery"] == "RECOVERY is 'on'; 'observe' verified never; 'on' verified never"


def test_a_status_for_programs_holds_the_same() -> None:
    put("shadow")
    ready()
    found: list[dict[str, Any]] = json.loads(run("status", "--json"))
    email, sms = found
    assert (email["channel"], email["mode"], email["slice_per_mille"]) == ("email", "shadow", 1000)
    assert (email["shadowed"], email["next_step"]) == ({"shadowed": 30}, "rollout set email live --slice 50")
    assert (email["paused_since"], sorted(email["verified"])) == (None, ["observe", "on"])
    assert {one["name"] for one in email["next_findings"]} >= {"shadowed", "recovery"}
    assert (sms["mode"], sms["next_findings"]) == ("live", [])


@pytest.mark.parametrize("step", ["status", "set", "pause", "resume", "history"])
def test_every_step_has_a_help_text(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((step, "--help"), ("--help",)):
        with pytest.raises(SystemExit) as ended:
            call_command("rollout", *arguments)
        assert ended.value.code == 0
    of_step, of_all = capsys.readouterr().out.split("usage: ")[1:]
    assert "--database" in of_step
    assert f"    {step} " in of_all
