"""The canary test's play: marked values on every path that a reset can take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from examples.demo import ports
from notifications.testing.provider import Behaviour, Fault
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.services import cancel_resets, request_reset
from tests.acceptance.harness import hints
from tests.acceptance.harness.canary_browser import Browser
from tests.acceptance.harness.canary_commands import assert_worked
from tests.acceptance.harness.canary_marks import account, links
from tests.acceptance.harness.canary_texts import (
    BAD_KEY,
    BODY,
    HINT,
    KEY,
    PASSWORD,
    PROVIDER_SECRET,
    PROVIDER_TEXT,
    TYPED,
)
from tests.acceptance.harness.crash_points import CrashPoint
from tests.acceptance.harness.processes import Running
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished
from tests.acceptance.harness.waiting import eventually
from tests.internal_api import in_minutes, reset_fields
from tests.receipt_samples import FORM, twilio_fields, twilio_signature
from tests.sinks import Caught

RECEIPTS = "https://shop.example/receipts"
INTENTS = "/internal/reset-intents"
WORK = "/internal/delivery-work"

#: What a provider answers, with text of its own; each meets one reset.
FAULTS = {
    "greylisted": Fault(
        channel="email", behaviour=Behaviour.REPLY, phase="rcpt", code=450, text=PROVIDER_TEXT
    ),
    "refused": Fault(channel="email", behaviour=Behaviour.REPLY, phase="rcpt", code=550, text=PROVIDER_TEXT),
    "cut": Fault(channel="email", behaviour=Behaviour.DROP, text=PROVIDER_TEXT),
    "senseless": Fault(channel="email", behaviour=Behaviour.GARBAGE, text=PROVIDER_TEXT),
    "no number": Fault(channel="sms", behaviour=Behaviour.REPLY, code=400, error=21211, text=PROVIDER_TEXT),
    "broken": Fault(channel="sms", behaviour=Behaviour.ERROR, code=500, text=PROVIDER_TEXT),
    "suspended": Fault(channel="sms", behaviour=Behaviour.REPLY, code=401, error=20003, text=PROVIDER_TEXT),
}


class Scene:
    """Processes, accounts, and the steps in their order."""

    def __init__(self, stage: Stage, environment: Mapping[str, Any], api_key: str) -> None:
        self.stage = stage
        self.environment = environment
        self.accounts: list[Any] = []
        self.caught = Caught()
        self.ports = {name: ports.pick() for name in ("shop", "internal", "flower")}
        self.shop = Browser(ports.address(self.ports["shop"]))
        self.api_key = api_key
        key = {"Authorization": f"Bearer {api_key}"}
        self.service = Browser(ports.address(self.ports["internal"]), key)
        self.stranger = Browser(ports.address(self.ports["internal"]), {"Authorization": f"Bearer {BAD_KEY}"})

    def new_account(self) -> Any:
        """One more."""
        self.accounts.append(account(len(self.accounts) + 1))
        return self.accounts[-1]

    def ask(self, *channels: str, **options: Any) -> ResetIntent:
        """A reset of a new account, asked for by the shop's own code."""
        ref = str(self.new_account().pk)
        key = f"{KEY}-{len(self.accounts)}"
        admission = request_reset(account_ref=ref, channels=list(channels), idempotency_key=key, **options)
        return ResetIntent.objects.get(reference=admission.reference)

    def ask_wrongly(self) -> None:
        """What the shop's own code is told by exceptions."""
        ref = str(self.new_account().pk)
        wrong: list[dict[str, Any]] = [
            {"account_ref": ref, "channels": ["email"], "idempotency_key": KEY},
            {"account_ref": ref, "channels": ["sms"], "idempotency_key": KEY},
            {"account_ref": ref, "channels": [BODY]},
            {"account_ref": ref * 40, "channels": ["email"]},
            {"account_ref": ref, "submitted": TYPED, "channels": ["email"]},
            {"account_ref": ref, "channels": ["email"], "locale": BODY * 9},
        ]
        for options in wrong:
            try:
                request_reset(client="canary-shop", **options)
            except Exception as error:
                self.caught.add(error)

    def begin(self) -> None:
        """Start what runs all the time."""
        stage, environment = self.stage, self.environment
        stage.shop(self.ports["shop"], **environment)
        stage.internal_api(self.ports["internal"], **environment)
        stage.flower(self.ports["flower"], **environment)
        stage.starting_worker("control", **environment)
        stage.beat(**environment)

    def lose_a_worker(self) -> None:
        """Kill one that holds what the provider has accepted; the sweep takes it back."""
        points = self.stage.armed(CrashPoint.ACCEPTED)
        victim = self.stage.worker("email", points=points, **self.environment)
        self.ask("email")
        points.wait_for(CrashPoint.ACCEPTED)
        victim.kill()

    def start_worker(self, **more: Any) -> Running:
        """A worker for both channels, ready."""
        return self.stage.worker(**self.environment, **more)

    def use_the_pages(self) -> None:
        """Ask on the shop's page, as somebody with an account and as somebody without."""
        eventually(lambda: self.shop.answers_at("/"), "the shop's pages")
        assert self.shop.fill_in("/accounts/forgot/", email=self.new_account().email) == 200
        assert self.shop.fill_in("/accounts/forgot/", email=TYPED) == 200

    def meet_every_fault(self) -> None:
        """One reset for each, and one that is withdrawn."""
        for fault in FAULTS.values():
            self.stage.provider.faults.add(fault)
            self.ask(fault.channel)
        cancel_resets(account_ref=self.ask("email", "sms").account_ref)

    def call_the_api(self) -> None:
        """Every call that is answered, and every error that a caller can make."""
        eventually(lambda: self.service.answers_at("/internal/delivery-health"), "the internal API")

        def send(path: str, body: object, method: str = "POST") -> int:
            return self.service.send(path, body, method, Idempotency_Key=KEY)[0]

        buyer = self.new_account()
        asked = reset_fields(buyer, channels=["email", "sms"])
        assert send(INTENTS, asked) == 202
        assert send(INTENTS, reset_fields(buyer, channels=["email"])) == 422
        wrong: list[object] = [
            {**asked, "account_id": [BODY]},
            {**asked, "channels": [BODY]},
            {**asked, "expires_at": BODY},
            {**asked, BODY: in_minutes(1)},
            f'{{"{BODY}": '.encode(),
        ]
        assert {send(INTENTS, body) for body in wrong} == {400, 422}
        assert send(f"/{BODY}", {BODY: BODY}) == 404
        assert send(INTENTS, asked, BODY.upper()) == 405
        assert self.service.get(f"{INTENTS}/{BODY}")[0] == 404
        assert self.service.get(f"/internal/delivery-health?window={BODY}")[0] == 422
        assert self.stranger.send(INTENTS, asked, Idempotency_Key=KEY)[0] == 401

    def deliver_outside(self) -> None:
        """Claim, hand out and report over HTTP, as a worker outside does."""
        self.ask("email")
        bounds = {"worker_id": "w1", "limit": 10, "lease_seconds": 20, "channel": "email"}
        status, claimed = self.service.send(f"{WORK}/claim", bounds)
        wrong, _ = self.service.send(f"{WORK}/claim", bounds | {"worker_id": BODY * 20})
        assert (status, wrong) == (200, 422)
        for one in json.loads(claimed)["deliveries"]:
            where, held = f"{WORK}/{one['reference']}", {"lease_token": one["lease_token"]}
            # The one answer that is to hold an address and a link.
            assert self.service.send(f"{where}/message", held, is_kept=False)[0] == 200
            report = held | {"outcome": "accepted", "provider_reference": "any"}
            assert self.service.send(f"{where}/outcome", report)[0] == 200

    def send_senseless_hints(self, worker: Running) -> None:
        """Whoever can write to the broker may write anything; of what is no message, Celery's worker ends."""
        hints.send("email", HINT, [HINT])
        hints.send("email", {HINT: HINT})
        worker.wait_until_log_says("malformed_hint_dropped")
        self.stage.broker.put("email", f"{HINT}, no message".encode())
        worker.exit_code()

    def use_links(self) -> None:
        """A link that works, the same again, and one that never did; a notice follows."""
        of_first = self.stage.provider.store.list("email")
        uid, token = links(of_first)[-1]
        wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
        self.shop.get(f"/reset/{uid}/{wrong}/")
        new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
        assert self.shop.fill_in(f"/reset/{uid}/{token}/", **new) == 200
        self.shop.get(f"/reset/{uid}/{token}/")
        assert ResetIntent.objects.filter(kind="security_notice").exists()

    def send_receipts(self) -> None:
        """A provider's word that a text message arrived, with the number; and a forged one."""
        sent = Attempt.objects.filter(delivery__channel="sms", outcome="accepted").first()
        assert sent is not None
        path = f"/twilio/{sent.reference}/"
        fields = twilio_fields(To=self.accounts[0].phone, ErrorMessage=PROVIDER_TEXT)
        body = urlencode(fields).encode()
        for secret, wanted in ((PROVIDER_SECRET, 204), (f"not {PROVIDER_SECRET}", 403)):
            headers: dict[str, Any] = {
                "Content_Type": FORM,
                "X_Twilio_Signature": twilio_signature(RECEIPTS + path, fields, secret),
            }
            assert self.shop.send(f"/receipts{path}", body, **headers)[0] == wanted

    def fail_loudly(self) -> None:
        """A transport that raises and a directory that raises, each with all that it knows."""
        worker = self.start_worker(LOUD_TRANSPORT="on")
        self.ask("email")
        self.ask("sms")
        eventually(lambda: Attempt.objects.filter(reason="transport_bug").count() >= 2, "a transport's bug")
        worker.end()
        worker = self.start_worker(DIRECTORY="tests.acceptance.harness.loud_directory.LoudDirectory")
        self.ask("email")
        worker.wait_until_log_says("LookupError")
        worker.end()

    def poll(self) -> None:
        """The same without a broker, in the form of logs that people read."""
        poller = self.stage.poller(**{**self.environment, "LOG_FORMAT": "console"})
        intent = self.ask("email", "sms")
        eventually(
            lambda: not Delivery.objects.filter(intent=intent).exclude(state="accepted").exists(),
            "a reset that the poller delivers",
        )
        eventually(all_finished, "every delivery finished")
        poller.end()

    def commands(self, *several: tuple[str, ...]) -> None:
        """Run ``manage.py`` commands at once, to their ends; each must do its work."""
        running = [(one[0], self.stage.command(*one, **self.environment)) for one in several]
        for name, process in running:
            assert_worked(name, process.exit_code(), process.log.read_text())
