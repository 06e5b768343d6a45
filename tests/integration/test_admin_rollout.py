"""The pages on which a live sender is moved over: who may, what they show, what they do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from notifications.channels import Channel
from resetdelivery import audit
from resetdelivery.admin import rollout_page
from resetdelivery.cutover import facts
from resetdelivery.cutover.facts import NothingSeen
from resetdelivery.cutover.steps import pause
from resetdelivery.domain.rollout import RolloutAction, verified_target
from resetdelivery.domain.telemetry import CountedEvent, Ending, Job
from resetdelivery.models import AuditEntry, ChannelControl, JobRun
from tests.counted import events, succeeded
from tests.moved_clock import moved_clock
from tests.staff import SignIn, sign_in, words
from tests.steps import store

__all__ = ["moved_clock", "sign_in"]

pytestmark = pytest.mark.django_db

VIEW, CHANGE = "view_channelcontrol", "change_channelcontrol"
PLACE = "admin:resetdelivery_channelcontrol_rollout"
BOTH = [Channel.EMAIL, Channel.SMS]
WHY = "the night is quiet"


@pytest.fixture
def viewer(sign_in: SignIn) -> Client:
    return sign_in(VIEW, username="vera")


@pytest.fixture
def mover(sign_in: SignIn) -> Client:
    return sign_in(CHANGE, "view_auditentry", username="mona")


@pytest.fixture
def rehearsed() -> None:
    """Email was shadowed for long enough, all went well, and recovery was verified."""
    ChannelControl.objects.update_or_create(channel=Channel.EMAIL, defaults={"mode": "shadow"})
    for job in (Job.SWEEP, Job.ROLL_UP):
        succeeded(job)
    events({CountedEvent.SHADOW_FINISHED: 40}, label=Ending.SHADOWED)
    events({CountedEvent.SHADOW_DELAY: 40}, label="0.25")
    for recovery in ("observe", "on"):
        target = verified_target(Channel.EMAIL, recovery)
        audit.record(who="cron", action=RolloutAction.VERIFIED, target=target)


def overview() -> str:
    return reverse(PLACE)


def email_page(query: str = "") -> str:
    return reverse(f"{PLACE}_channel", args=["email"]) + query


def looked_at(mode: str, slice_per_mille: object = "") -> str:
    return email_page(f"?look-mode={mode}&look-slice_per_mille={slice_per_mille}")


def to(mode: str, slice_per_mille: int = 1000, **fields: str) -> dict[str, str]:
    """What the form of a step sends."""
    named = {"set-mode": mode, "set-slice_per_mille": str(slice_per_mille)}
    return {"step": "set", **named, **{f"set-{name}": value for name, value in fields.items()}}


def read(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def own(text: str) -> str:
    """The page without what Django puts around it."""
    (part,) = re.findall(r'class="resetdelivery-rollout">.*</section>', text, re.DOTALL)
    return str(part)


def stands() -> tuple[str, int]:
    row = ChannelControl.objects.get(channel=Channel.EMAIL)
    return row.mode, row.slice_per_mille


def steps_made() -> list[tuple[str, str, str, str]]:
    made = AuditEntry.objects.exclude(action=RolloutAction.VERIFIED).order_by("pk")
    return list(made.values_list("who", "action", "target", "why"))


def paused() -> set[str]:
    return set(ChannelControl.objects.filter(paused=True).values_list("channel", flat=True))


# Who may.


@pytest.mark.parametrize("address", [overview, email_page])
def test_nobody_else_may_look(client: Client, sign_in: SignIn, address: Any) -> None:
    assert client.get(address()).status_code == 302
    assert sign_in("view_delivery").get(address()).status_code == 403
    assert sign_in(CHANGE, is_staff=False).get(address()).status_code == 302


@pytest.mark.parametrize("address", [overview, email_page])
def test_who_may_view_channels_finds_no_form(viewer: Client, rehearsed: None, address: Any) -> None:
    assert "<form" not in own(read(viewer, address()))


def test_who_may_view_channels_looks_at_no_step(viewer: Client, rehearsed: None) -> None:
    assert "Seen:" not in read(viewer, looked_at("live", 50))


@pytest.mark.parametrize("address", [overview, email_page])
def test_who_may_only_view_changes_nothing(viewer: Client, address: Any) -> None:
    for sent in ({"step": "pause", "pause-why": WHY}, to("legacy")):
        assert viewer.post(address(), sent).status_code == 403
    assert (steps_made(), paused()) == ([], set())


def test_a_form_without_its_csrf_token_changes_nothing(mover: Client) -> None:
    careless = Client(enforce_csrf_checks=True)
    careless.cookies = mover.cookies
    assert careless.post(overview(), {"step": "pause", "pause-why": WHY}).status_code == 403
    assert paused() == set()


def test_the_last_steps_are_for_whoever_may_view_the_audit_trail(sign_in: SignIn) -> None:
    audit.record(who="otto", action=RolloutAction.PAUSE, target="sms", why=WHY)
    assert "otto" not in read(sign_in(VIEW), overview())
    assert "otto" in read(sign_in(VIEW, "view_auditentry"), overview())


# What they show.


def test_the_list_of_channels_leads_there(viewer: Client) -> None:
    listed = read(viewer, reverse("admin:resetdelivery_channelcontrol_changelist"))
    assert f'href="{overview()}"' in listed


def test_each_channel_is_shown_with_its_window_and_its_next_step(mover: Client, rehearsed: None) -> None:
    store(overdue=30, life=600)
    found = read(mover, overview())
    seen = words(found)
    assert "Position shadow" in seen
    assert "Shadows that ended within 1:00:00 shadowed 40" in seen
    assert "Queue delay p95 0.2 s of 40" in seen
    assert "manage.py rollout set email live --slice 50" in seen
    assert f'href="{looked_at("live", 50).replace("&", "&amp;")}"' in found
    assert "Position live , 1000 of 1000 accounts" in seen


def test_the_queues_age_is_a_bar_that_says_what_it_shows(viewer: Client) -> None:
    store(overdue=300)
    bars = re.findall(r'<svg[^>]* role="img" aria-label="([^"]*)".*?</svg>', read(viewer, email_page()), re.S)
    assert bars[0] == "we send for 1000 of 1000 accounts"
    assert re.fullmatch(r"30\d\.\d s of \d+ s; a step forward asks for \d+ s or less", bars[1])


@pytest.mark.parametrize("address", [overview, email_page])
def test_a_pause_is_shown_with_who_and_why_to_whoever_may_view_the_audit_trail(
    sign_in: SignIn, address: Any
) -> None:
    pause(BOTH, who="otto", why=WHY)
    assert f"by otto: {WHY}" in words(read(sign_in(VIEW, "view_auditentry"), address()))
    seen = words(read(sign_in(VIEW), address()))
    assert "yes (operator) since" in seen
    assert [told for told in ("otto", WHY) if told in seen] == []


def test_where_nobody_sweeps_the_page_says_so(viewer: Client, rehearsed: None) -> None:
    JobRun.objects.filter(name=Job.SWEEP).delete()
    assert "sweep_missing" in words(read(viewer, email_page()))


def test_no_page_names_a_reset(mover: Client, rehearsed: None) -> None:
    (row,) = store(overdue=30)
    found = "".join(read(mover, page) for page in (overview(), email_page(), looked_at("live", 50)))
    secrets = (row.reference, row.intent.reference, row.intent.account_ref, row.intent.account_digest)
    assert [name for name in secrets if str(name) in found] == []


@pytest.mark.parametrize("address", [overview, email_page, lambda: looked_at("live", 200)])
def test_no_page_needs_a_script_or_a_style_of_its_own(mover: Client, rehearsed: None, address: Any) -> None:
    part = own(read(mover, address()))
    assert "<svg" in part
    assert re.findall(r"<script|<style|<[^>]* (?:style|on\w+)=", part) == []


@pytest.mark.parametrize("address", [overview, email_page, lambda: looked_at("live", 200)])
def test_every_field_has_a_label_and_every_id_is_one_of_a_kind(
    mover: Client, rehearsed: None, address: Any
) -> None:
    found = read(mover, address())
    part = own(found)
    fields = re.findall(
        r'<(?:input|select)[^>]* id="([^"]+)"', re.sub(r'<input type="hidden"[^>]*>', "", part)
    )
    assert fields
    assert sorted(fields) == sorted(re.findall(r'<label[^>]* for="([^"]+)"', part))
    ids = re.findall(r' id="([^"]+)"', part)
    assert len(ids) == len(set(ids))
    assert set(" ".join(re.findall(r' aria-describedby="([^"]+)"', part)).split()) <= set(ids)


def test_on_a_site_of_another_name_they_lead_back_to_that_site(mover: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.hosts.ops_admin_urls"
    for address in (
        "/ops/resetdelivery/channelcontrol/rollout/",
        "/ops/resetdelivery/channelcontrol/rollout/email/",
    ):
        found = re.sub(r'href="/static/[^"]*"|src="/static/[^"]*"', "", read(mover, address))
        assert "/ops/resetdelivery/channelcontrol/" in found
        assert "/admin/" not in found


# A step: looked at first.


def test_looking_at_a_step_shows_what_it_asks_for_and_changes_nothing(mover: Client, rehearsed: None) -> None:
    seen = words(read(mover, looked_at("live", 200)))
    assert "From shadow 1000 to live 200" in seen
    assert "✗ first slice: does not hold Seen: 200 per mille. Wanted: at most 50 per mille" in seen
    assert "✓ shadow first: holds Seen: shadow." in seen
    assert (stands(), steps_made()) == (("shadow", 1000), [])


def test_a_step_of_which_all_holds_asks_for_no_override(mover: Client, rehearsed: None) -> None:
    found = read(mover, looked_at("live", 50))
    assert "does not hold" not in found
    assert 'name="set-override"' not in found
    assert 'name="set-override"' in read(mover, looked_at("live", 200))


def test_a_step_back_asks_for_nothing(mover: Client, rehearsed: None) -> None:
    assert "a step back" in words(read(mover, looked_at("legacy")))


def test_the_form_proposes_the_next_step(mover: Client, rehearsed: None) -> None:
    found = read(mover, email_page())
    assert re.search(r'<option value="live" selected', found)
    assert re.search(r'name="look-slice_per_mille" value="50"', found)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (("live", ""), "A live channel has a slice"),
        (("live", 0), "greater than or equal to 1"),
        (("live", 1001), "less than or equal to 1000"),
        (("live", "many"), "Enter a whole number"),
        (("loud", 50), "not one of the available choices"),
    ],
)
def test_what_is_no_step_is_said_beside_the_field_and_the_page_begins_there(
    mover: Client, sent: tuple[str, object], says: str
) -> None:
    found = read(mover, looked_at(*sent))
    (row,) = re.findall(r'<div class="form-row errors">.*?</div>', found, re.DOTALL)
    assert says in words(row)
    assert re.search(r"<(?:input|select)[^>]* autofocus", row)
    assert "Seen:" not in found


# A step: made.


def test_a_step_is_made_in_the_name_of_whoever_asks(mover: Client, rehearsed: None) -> None:
    answer = mover.post(email_page(), to("live", 50, why=WHY), follow=True)
    assert answer.redirect_chain == [(email_page(), 302)]
    assert "Moved: email from shadow 1000 to live 50." in words(answer.content.decode())
    assert stands() == ("live", 50)
    assert steps_made() == [("mona", "rollout_set", "email: shadow 1000 -> live 50", WHY)]


def test_a_step_of_which_something_does_not_hold_is_refused_and_says_why(
    mover: Client, rehearsed: None
) -> None:
    answer = mover.post(email_page(), to("live", 200))
    seen = words(answer.content.decode())
    assert answer.status_code == 200
    assert "Refused for first slice." in seen
    assert "✗ first slice: does not hold Seen: 200 per mille." in seen
    assert (stands(), steps_made()) == (("shadow", 1000), [])


def test_an_override_needs_a_reason(mover: Client, rehearsed: None) -> None:
    found = mover.post(email_page(), to("live", 200, override="on")).content.decode()
    (row,) = re.findall(r'<div class="form-row errors">.*?</div>', found, re.DOTALL)
    assert "Say why it is applied" in words(row)
    assert re.search(r'<input[^>]* name="set-why"[^>]* autofocus', row)
    assert (stands(), steps_made()) == (("shadow", 1000), [])


def test_with_an_override_and_a_reason_it_is_made_and_the_audit_trail_says_so(
    mover: Client, rehearsed: None
) -> None:
    mover.post(email_page(), to("live", 200, override="on", why=WHY))
    assert stands() == ("live", 200)
    ((who, _, _, why),) = steps_made()
    assert (who, why) == ("mona", f"override: {WHY} (first slice)")


def test_the_longest_reason_has_room_beside_all_that_can_fail(mover: Client, change: Any) -> None:
    change(RECOVERY="off")
    ChannelControl.objects.create(channel=Channel.EMAIL, mode="legacy", paused=True, pause_reason="operator")
    store(overdue=500)
    events({CountedEvent.SHADOW_REFUSED: 9}, label="no_useful_time_left")
    mover.post(email_page(), to("live", override="on", why="y" * 140))
    ((*_, why),) = steps_made()
    assert why.startswith(f"override: {'y' * 140} (pause, queue age, health, shadow first, first slice,")
    assert why.endswith(", shadowed, sendable, queue delay, counts, recovery)")


def test_a_step_back_is_made_without_a_reason(mover: Client, rehearsed: None) -> None:
    mover.post(email_page(), to("legacy"))
    assert stands() == ("legacy", 1000)


@pytest.mark.parametrize(
    "sent", [{"step": "jump"}, {}, to("loud"), to("live", 0), {"step": "look", "look-mode": "legacy"}]
)
def test_what_no_form_of_the_page_sends_is_a_bad_request(
    mover: Client, rehearsed: None, sent: dict[str, str]
) -> None:
    assert mover.post(email_page(), sent).status_code == 400
    assert stands() == ("shadow", 1000)


def test_a_channel_that_is_not_configured_has_no_page(mover: Client, change: Any) -> None:
    assert mover.get(reverse(f"{PLACE}_channel", args=["pigeon"])).status_code == 404
    change(CHANNELS={"email": {"TRANSPORT": "tests.transports.email"}})
    assert mover.get(reverse(f"{PLACE}_channel", args=["sms"])).status_code == 404


def test_no_other_method_is_taken(mover: Client) -> None:
    assert [mover.put(page).status_code for page in (overview(), email_page())] == [405, 405]


# Pauses.


def test_a_channel_is_paused_and_resumed_by_itself(mover: Client) -> None:
    mover.post(email_page(), {"step": "pause", "pause-why": WHY})
    assert paused() == {"email"}
    mover.post(email_page(), {"step": "resume", "resume-why": ""})
    assert paused() == set()
    assert steps_made() == [
        ("mona", "rollout_pause", "email", WHY),
        ("mona", "rollout_resume", "email", ""),
    ]


def test_one_switch_pauses_every_channel_and_one_resumes_them(mover: Client) -> None:
    answer = mover.post(overview(), {"step": "pause", "pause-why": WHY}, follow=True)
    assert answer.redirect_chain == [(overview(), 302)]
    assert "Paused: email, sms." in words(answer.content.decode())
    assert paused() == {"email", "sms"}
    assert steps_made() == [("mona", "rollout_pause", channel.value, WHY) for channel in BOTH]
    mover.post(overview(), {"step": "resume", "resume-why": WHY})
    assert paused() == set()


def test_what_is_paused_already_is_told_so(mover: Client) -> None:
    for _ in range(2):
        answer = mover.post(overview(), {"step": "pause", "pause-why": WHY}, follow=True)
    assert "it was paused already" in answer.content.decode()
    assert len(steps_made()) == len(BOTH)


@pytest.mark.parametrize("why", ["", "  ", "a\x07b", "y" * 141])
@pytest.mark.parametrize("address", [overview, email_page])
def test_a_pause_needs_a_reason_that_can_be_kept(mover: Client, address: Any, why: str) -> None:
    answer = mover.post(address(), {"step": "pause", "pause-why": why})
    assert 'class="errornote" role="alert"' in answer.content.decode()
    assert (paused(), steps_made()) == (set(), [])


def test_the_switch_and_a_step_back_work_while_the_numbers_cannot_be_read(
    mover: Client, rehearsed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise NothingSeen("The database did not tell in time.")

    monkeypatch.setattr(rollout_page, "status", away)
    answer = mover.post(overview(), {"step": "pause", "pause-why": WHY}, follow=True)
    assert "did not tell in time" in words(answer.content.decode())
    assert paused() == {"email", "sms"}
    assert "did not tell in time" in words(read(mover, email_page()))
    mover.post(email_page(), to("legacy"))
    assert stands() == ("legacy", 1000)


def test_a_step_forward_is_made_by_an_override_while_the_numbers_cannot_be_read(
    mover: Client, rehearsed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: Any) -> None:
        raise NothingSeen("The database did not tell in time.")

    monkeypatch.setattr(facts, "look", away)
    assert 'name="set-override"' in read(mover, looked_at("live", 50))
    answer = mover.post(email_page(), to("live", 50, why=WHY))
    assert "did not tell in time" in words(answer.content.decode())
    assert stands() == ("shadow", 1000)
    mover.post(email_page(), to("live", 50, why=WHY, override="on"))
    assert stands() == ("live", 50)
    assert [why for *_, why in steps_made()] == [f"override: {WHY} (nothing seen)"]
