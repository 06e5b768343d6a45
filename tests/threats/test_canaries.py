"""Marked values go through every page and every call, each step is made to fail, and every sink is searched.

``tests/integration/test_leaks.py`` does so for a reset that the shop's own code asks for and for its
workers; here it is the forgot page, the internal boundary, its limits, the page behind the link and
the notice after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import IntegrityError
from django.test import Client
from werkzeug.test import TestResponse

from resetdelivery.models import ApiKey, AuditEntry, LimitUse, ResetIntent
from resetdelivery.services import cancel_resets
from tests.brokers import everything
from tests.conftest import age
from tests.integration.conftest import Settings
from tests.integration.test_leaks import ADDRESS, KEY, REF, Planted, fail, work
from tests.internal_api import Service, reset_fields, service
from tests.reset_page import NEW, path_of_link
from tests.sinks import Caught, pages, stored
from tests.threats.pages import ask

pytestmark = pytest.mark.django_db(transaction=True)

CALLER = "203.0.113.77"
Search = Callable[..., list[tuple[str, str]]]
HOOK = f"{__name__}.revoke_nothing"


def revoke_nothing(**_: object) -> None:
    """A hook of the shop's, for after a reset."""


class Scene:
    """One person's resets in all the ways in which others have a part, and what they were answered."""

    def __init__(self, shop: Service, buyer: Any) -> None:
        self.shop = shop
        self.answers: list[str] = []
        self.statuses: list[int] = []
        self.caught = Caught()
        self._buyer = buyer
        self._browser = Client(raise_request_exception=False, REMOTE_ADDR=CALLER)

    def play(self) -> None:
        """Every step, whatever became of the one before."""
        self._note(ask(self._browser, ADDRESS))
        self._note(self.shop.ask(reset_fields(REF, channels=["email", "sms"]), KEY))
        self._note(self.shop.ask(reset_fields(f"~{REF}", channels=[KEY]), KEY))
        for intent in ResetIntent.objects.all():
            self._note(self.shop.get(f"/internal/reset-intents/{intent.reference}"))
        self._note(self.shop.get("/internal/delivery-health"))
        self._deliver_outside()
        age(2)
        work(self.caught)
        self._use_a_link()
        work(self.caught)
        cancel_resets(account_ref=REF)

    def _deliver_outside(self) -> None:
        bounds = {"worker_id": "w1", "limit": 1, "lease_seconds": 60, "channel": "email"}
        told = self._note(self.shop.post("/internal/delivery-work/claim", bounds))
        for one in told.get_json().get("deliveries", []):
            where, held = f"/internal/delivery-work/{one['reference']}", {"lease_token": one["lease_token"]}
            handed = self.shop.post(f"{where}/message", held)
            # A message is the one answer that is to hold an address and a link.
            if handed.status_code != 200:
                self._note(handed)
            self._note(self.shop.post(f"{where}/outcome", {**held, "outcome": "accepted"}))

    def _use_a_link(self) -> None:
        shown = self._note(self._browser.get(path_of_link(self._buyer)))
        page = shown.headers.get("Location", "/reset/done/")
        form = {"new_password1": NEW, "new_password2": NEW}
        # A page for whoever holds the link says whose it is, for managers of passwords.
        self._note(self._browser.post(page, form), but=self._buyer.username)

    def _note(self, answer: Any, *, but: str = "") -> Any:
        body = answer.data if isinstance(answer, TestResponse) else answer.content
        self.statuses.append(answer.status_code)
        self.answers.append(f"{dict(answer.headers)} {body.decode()}".replace(but or "\0", ""))
        return answer


@pytest.fixture
def scene(buyer: Any, live: object, limits: object, change: Settings, email: object, sms: object) -> Scene:
    """A broker and limits to go through, a hook, and a service that may do everything."""
    change(AFTER_RESET=[HOOK])
    return Scene(service(), buyer)


@pytest.fixture
def found(
    scene: Scene,
    secrets: Callable[[], list[str]],
    logged: Callable[[], str],
    live: redis.Redis[bytes],
    limits: redis.Redis[bytes],
) -> Search:
    """Each sink in which a marked value is, with the value."""

    def search(**more: str) -> list[tuple[str, str]]:
        marked = [*secrets(), CALLER, NEW, scene.shop.key.split("_", 2)[2]]
        assert all(len(word) >= 8 for word in marked)
        sinks = {
            "answers": "\n".join(scene.answers),
            "logs": logged(),
            "tables": stored(),
            "broker": everything(live).decode("utf-8", "replace"),
            "limits": everything(limits).decode("utf-8", "replace"),
            "errors": scene.caught.text(),
            **more,
        }
        return [(sink, word) for sink, text in sinks.items() for word in marked if word in text]

    return search


#: Where the error is one of anything at all: nothing that it says may get out.
ANYTHING = [
    "resetdelivery.api.access.authenticate",
    "resetdelivery.api.bodies.parsed",
    "resetdelivery.api.intents.request_reset",
    "resetdelivery.api.intents.intent_status",
    "resetdelivery.api.health.delivery_health",
    "resetdelivery.external.claim",
    "resetdelivery.external.hand_out",
    "resetdelivery.external.report",
    "resetdelivery.external.pass_gate",
    "resetdelivery.gate.build_message",
    "resetdelivery.directory.DjangoUserDirectory.get_many",
    "resetdelivery.views.PasswordResetConfirmView.account_ref",
    "resetdelivery.views._phone",
    "redis.commands.core.Script.__call__",
    HOOK,
]
#: Where the error is the database's, which repeats the row that it refuses.
REFUSED_ROWS = [
    "resetdelivery.admission.transaction.find_replay",
    "resetdelivery.admission.transaction.find_places",
    "resetdelivery.admission.transaction.remember_key",
    "resetdelivery.limits.used_up",
    "resetdelivery.limits.record",
    "resetdelivery.views.run_hooks",
    "resetdelivery.views.notify_password_changed",
    "resetdelivery.notices._tell",
]
STEPS = [(step, Planted) for step in ANYTHING] + [(step, IntegrityError) for step in REFUSED_ROWS]


@pytest.mark.parametrize(("step", "kind"), STEPS, ids=[step.rpartition(".")[2] for step, _ in STEPS])
def test_an_error_at_any_step_of_a_page_or_call_lets_nothing_out(
    scene: Scene,
    found: Search,
    step: str,
    kind: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached: list[object] = []
    with monkeypatch.context() as patch:
        raise_it = fail(kind)

        def note_and_raise(*args: Any, **kwargs: Any) -> Any:
            reached.append(step)
            return raise_it(*args, **kwargs)

        patch.setattr(step, note_and_raise)
        scene.play()
    assert reached
    scene.play()
    assert found() == []


def test_pages_and_calls_without_errors_let_nothing_out(
    scene: Scene, found: Search, limits: redis.Redis[bytes]
) -> None:
    scene.play()
    assert scene.statuses == [302, 202, 422, 200, 200, 200, 200, 302, 302]
    assert scene.caught.texts == []
    assert limits.keys("*")
    assert all(model.objects.exists() for model in (ApiKey, AuditEntry, LimitUse))
    assert set(ResetIntent.objects.values_list("kind", flat=True)) == {"reset", "security_notice"}
    assert found(admin=pages()) == []


def test_the_answers_would_show_a_planted_value(scene: Scene, found: Search) -> None:
    scene.answers.append(f"202 {scene.shop.key} {KEY}")
    assert [sink for sink, _ in found()] == ["answers", "answers"]


def test_the_limits_would_show_a_planted_value(limits: redis.Redis[bytes], found: Search) -> None:
    limits.hset("resetdelivery:limits:any", CALLER, "1")
    assert found() == [("limits", CALLER)]
