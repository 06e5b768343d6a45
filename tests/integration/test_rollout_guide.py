"""docs/rollout.md from its first command to its last, with people who ask for resets in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from notifications.testing import ScriptedTransport
from resetdelivery.cutover import stranded, verification
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import AuditEntry, Delivery
from resetdelivery.poller import Poller
from tests.integration.conftest import Settings
from tests.polling import polling
from tests.senders import number_of
from tests.steps import seconds

GUIDE = Path(__file__).parents[2] / "docs" / "rollout.md"
COMMAND = re.compile(r"^manage\.py (.+)$", re.MULTILINE)
CODE = re.compile(r"<!-- snippet:rollout\.py -->\n```python\n(.*?)```", re.DOTALL)
S = DeliveryState
FIRST_SLICE = 50
#: A line of an output that the guide shows: a precondition, or what a verification saw.
FINDING = re.compile(r"^ *(?:ok|not ok) +(\S+(?: \S+)*)  ", re.MULTILINE)
#: Of verifications where there is a broker; the tests' own poller has none.
OF_HINTS = {"lost hints hinted at again", "no lost hint hinted at again"}


class Shop:
    """The guide's own code, between people who ask, an existing sender and our transport."""

    def __init__(self, email: ScriptedTransport, make_account: Callable[..., Any]) -> None:
        self.told: list[str] = []
        self.caller_dies = False
        self._email = email
        self._make_account = make_account
        self._names: dict[str, Any] = {"existing_sender": self._send}
        (code,) = CODE.findall(GUIDE.read_text())
        exec(code, self._names)
        self._keys = 0

    def _send(self, typed: str, channel: str) -> str:
        if self.caller_dies:
            raise SystemExit
        self.told.append(typed)
        return "accepted"

    def account(self, *, within: int, above: int = -1) -> Any:
        """A new account whose number lies above one slice and within another."""
        while True:
            account = self._make_account()
            if above < number_of(str(account.pk)) < within:
                return account

    def ask(self, account: Any, *, key: str = "") -> None:
        self._keys += 1
        self._names["ask_for_reset"](account.email, key or f"key {self._keys}")

    def sender_of(self, account: Any) -> str:
        """Who sends what the account asks for now; both, or neither, is no answer."""
        before = self._counts(account)
        self.ask(account)
        Poller().run_once()
        theirs, ours = (n - b for n, b in zip(self._counts(account), before, strict=True))
        return {(1, 0): "existing", (0, 1): "ours"}[theirs, ours]

    def _counts(self, account: Any) -> tuple[int, int]:
        ours = [one for one in self._email.messages if one.to == account.email]
        return self.told.count(account.email), len(ours)


@pytest.fixture
def shop(transactional_db: None, email: ScriptedTransport, make_account: Callable[..., Any]) -> Shop:
    return Shop(email, make_account)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch, change: Settings) -> None:
    monkeypatch.setattr(stranded, "ABANDONED_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(verification, "LOOK_SECONDS", 0.02)
    change(RECOVERY="off", SWEEP_INTERVAL=seconds(0.1), POLL_INTERVAL=seconds(0.05))


def commands() -> Iterator[str]:
    """All that the guide has, in its order."""
    yield from COMMAND.findall(GUIDE.read_text())


class Walk:
    """Runs the guide's commands, one after the other; each must be the one that is expected."""

    def __init__(self) -> None:
        self._left = list(commands())

    def next(self, expected: str) -> None:
        command = self._left.pop(0)
        assert command.startswith(expected)
        call_command(*arguments(command))

    def next_ones(self, *expected: str) -> None:
        for command in expected:
            self.next(command)

    @property
    def is_over(self) -> bool:
        return not self._left


def arguments(command: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)]


def authorities() -> Mapping[int, str]:
    return dict(Delivery.objects.values_list("pk", "authority"))


def test_the_guide_leads_from_one_sender_to_the_other_and_back(
    shop: Shop, change: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = Walk()
    inside, later, outside = (
        shop.account(within=FIRST_SLICE),
        shop.account(above=FIRST_SLICE, within=200),
        shop.account(above=800, within=1000),
    )

    # 1 and 2: recorded, and the existing sender's.
    walk.next_ones("rollout set email legacy", "rollout status")
    assert {shop.sender_of(one) for one in (inside, later, outside)} == {"existing"}

    # 3: shadows.
    walk.next("rollout set email shadow")
    assert {shop.sender_of(shop.account(within=1000)) for _ in range(25)} == {"existing"}
    walk.next("rollout compare")

    # 4: in time, but for what a worker that dies would take along.
    with pytest.raises(SystemExit):
        walk.next("delivery_budget")

    # 5: recovery watches.
    change(RECOVERY="observe")
    with polling():
        walk.next("rollout verify-recovery email")

    # 6: the first slice, and what is on its way then.
    shop.ask(waits := shop.account(within=FIRST_SLICE))
    before = authorities()
    walk.next_ones("rollout set email live --slice 50 --dry-run", "rollout set email live --slice 50 --why")
    assert authorities() == before
    assert [shop.sender_of(one) for one in (inside, later, outside)] == ["ours", "existing", "existing"]
    assert Delivery.objects.get(intent__account_ref=str(waits.pk)).state == S.SHADOWED
    walk.next("rollout status")
    change(RECOVERY="on")
    with polling():
        walk.next("rollout verify-recovery email")
    walk.next_ones("delivery_budget", "rollout set email live --slice 200")
    assert [shop.sender_of(one) for one in (inside, later, outside)] == ["ours", "ours", "existing"]
    assert {shop.sender_of(shop.account(within=200)) for _ in range(4)} == {"ours"}
    walk.next("rollout set email live --slice 800")
    assert [shop.sender_of(one) for one in (inside, later, outside)] == ["ours", "ours", "existing"]
    assert {shop.sender_of(shop.account(within=800)) for _ in range(16)} == {"ours"}
    walk.next("rollout set email live")
    assert [shop.sender_of(one) for one in (inside, later, outside)] == ["ours", "ours", "ours"]

    # Stop at once: nobody sends what is asked for meanwhile, until it goes on.
    for resumed in ("rollout resume email", "rollout resume all"):
        walk.next(resumed.replace("resume", "pause"))
        shop.ask(outside)
        Poller().run_once()
        waiting = Delivery.objects.filter(intent__account_ref=str(outside.pk)).latest("pk")
        assert (waiting.state, waiting.attempts) == (S.PENDING, 0)
        walk.next(resumed)
        Poller().run_once()
        waiting.refresh_from_db()
        assert waiting.state == S.ACCEPTED

    # Back: what is on its way stays ours, and nothing after it is.
    shop.ask(outside)
    on_its_way = Delivery.objects.filter(intent__account_ref=str(outside.pk)).latest("pk")
    before = authorities()
    walk.next("rollout set email live --slice 50")
    assert authorities() == before
    Poller().run_once()
    on_its_way.refresh_from_db()
    assert (on_its_way.authority, on_its_way.state) == ("pipeline", S.ACCEPTED)
    assert [shop.sender_of(one) for one in (inside, later, outside)] == ["ours", "existing", "existing"]
    for step in ("rollout set email shadow", "rollout set email legacy"):
        walk.next(step)
        assert {shop.sender_of(one) for one in (inside, later, outside)} == {"existing"}
    walk.next("rollout history")
    assert walk.is_over

    shown = set(FINDING.findall(GUIDE.read_text())) - OF_HINTS
    assert shown
    assert shown <= set(FINDING.findall(capsys.readouterr().out))


def test_asking_again_by_the_same_key_sends_nothing_a_second_time(shop: Shop) -> None:
    call_command(*arguments(next(commands())))
    account = shop.account(within=1000)
    for _ in range(3):
        shop.ask(account, key="the same")
        Poller().run_once()
    assert shop.told == [account.email]


def test_who_asks_again_after_a_caller_died_is_sent_one(shop: Shop) -> None:
    call_command(*arguments(next(commands())))
    account = shop.account(within=1000)

    shop.caller_dies = True
    with pytest.raises(SystemExit):
        shop.ask(account)
    Poller().run_once()
    shop.caller_dies = False
    assert shop.sender_of(account) == "existing"


def test_each_step_of_the_guide_is_in_the_audit_trail(shop: Shop) -> None:
    first, *_ = commands()
    call_command(*arguments(first))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.why) == (
        "rollout_set",
        "email: live 1000 -> legacy 1000",
        "cut-over begins",
    )


def test_the_first_step_comes_before_anybody_could_be_sent_something_twice() -> None:
    assert next(commands()).startswith("rollout set email legacy")
