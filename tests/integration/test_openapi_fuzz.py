"""The internal API against its own document: requests of every kind, good and bad, from a fixed seed.

What is tried comes from the document, so an operation that is added to it is tried as well.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import re
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import django
import hypothesis
import pytest
import schemathesis
from django.urls import Resolver404, resolve
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.generation.case import Case
from schemathesis.openapi.loaders import from_dict
from schemathesis.schemas import BaseSchema
from schemathesis.transport.wsgi import WSGITransport

from config import wsgi_internal
from resetdelivery.api.document import openapi_document
from resetdelivery.api.routes import api
from resetdelivery.models import Delivery, ResetIntent
from tests.internal_api import Service, reset_fields, service

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        os.environ.get("TEST_DATABASE", "sqlite") != "sqlite" or django.VERSION >= (6,),
        reason="one pass of three is enough: on SQLite with Django 5.2",
    ),
]

SEED = 20_250_226
LEAST_CASES = 5_000
EXAMPLES = 550
CHAINS = 60
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "ignored_auth",
    "unsupported_method",
    "allow_header_conformance",
)


class Counted:
    """The application, and how often it was asked and answered what."""

    def __init__(self) -> None:
        self.answers: dict[str, Counter[int]] = defaultdict(Counter)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        operation = f"{environ['REQUEST_METHOD']} {_route(environ['PATH_INFO'])}"

        def counting(status: str, *rest: Any) -> Any:
            self.answers[operation][int(status[:3])] += 1
            return start_response(status, *rest)

        return wsgi_internal.application(environ, counting)

    def total(self) -> int:
        return sum(statuses.total() for statuses in self.answers.values())

    def lines(self) -> Iterator[str]:
        """One for each operation, and one for the methods that no operation has."""
        told: dict[str, Counter[int]] = defaultdict(Counter)
        for operation, statuses in self.answers.items():
            told["other methods" if set(statuses) == {405} else operation] += statuses
        for operation, statuses in sorted(told.items()):
            times = "  ".join(f"{status}: {times}" for status, times in sorted(statuses.items()))
            yield f"{statuses.total():6} {operation:70} {times}"


def _route(path: str) -> str:
    try:
        return resolve(path, urlconf=wsgi_internal.URLCONF).route
    except Resolver404:
        return ""


def _options(key: str) -> dict[str, Any]:
    """Nothing that is tried depends on an answer, so that every run tries the same."""
    without_answers = {"responses": False}
    return {
        "seed": SEED,
        "workers": 1,
        "continue-on-failure": True,
        "cache": {"enabled": False},
        "headers": {"Authorization": f"Bearer {key}"},
        "suppress-health-check": ["all"],
        "generation": {"mode": "all", "max-examples": EXAMPLES, "database": "none", "no-shrink": True},
        "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
        "phases": {
            "examples": {"extra-data-sources": without_answers},
            "coverage": {"extra-data-sources": without_answers},
            "fuzzing": {"extra-data-sources": without_answers, "error-feedback": {"enabled": False}},
            "stateful": {"generation": {"max-examples": CHAINS}},
        },
    }


def _schema(shop: Service, app: Counted, references: list[str]) -> BaseSchema:
    document = json.loads(json.dumps(openapi_document(api)))
    schema = from_dict(document, config=SchemathesisConfig.from_dict(_options(shop.key)))
    schema.app = app
    schema.location = "/internal/openapi.json"

    @schema.hook
    def map_path_parameters(_: Any, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        """Every other reference is one that exists."""
        made_up = str(parameters.get("reference", "")) if parameters else ""
        number = zlib.crc32(made_up.encode("utf-8", "replace"))
        if len(made_up) != 36 or number % 2:
            return parameters
        return {**(parameters or {}), "reference": references[number // 2 % len(references)]}

    @schema.hook
    def map_body(_: Any, body: Any) -> Any:
        """Every other lease is one that a claim can give, and every other token that of a first claim."""
        if not isinstance(body, dict):
            return body
        real = {"lease_token": "1", "lease_seconds": 60}
        return {n: real[n] if n in real and _replaceable(n, value) else value for n, value in body.items()}

    return schema


def _replaceable(name: str, value: object) -> bool:
    """One half of the values that are good ones."""
    if name == "lease_token":
        good = isinstance(value, str) and re.fullmatch(r"[1-9][0-9]{0,8}", value) is not None
    else:
        good = type(value) in {int, float} and 0 < float(str(value)) <= 86_400
    return good and zlib.crc32(repr(value).encode()) % 2 == 0


def _soon() -> st.SearchStrategy[str]:
    """Moments at which a reset may expire, and moments at which none may."""
    start = dt.datetime.now(dt.UTC).replace(microsecond=0)
    near = st.integers(200, 580).map(lambda s: (start + dt.timedelta(seconds=s)).isoformat())
    return near | st.datetimes().map(lambda at: f"{at.isoformat(timespec='seconds')}Z")


def _failures(schema: BaseSchema) -> Iterator[str]:
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError):
            yield f"error: {event.label}: {event.info.title} {event.info.message}"
        if isinstance(event, events.FatalError):
            yield f"error: {event.exception!r}"
        if isinstance(event, events.ScenarioFinished):
            yield from _failed(event.recorder)


def _failed(recorder: ScenarioRecorder) -> Iterator[str]:
    for case_id, checks in recorder.checks.items():
        case = recorder.cases[case_id].value
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{check.name}: {failure.title} {failure.message}: {case.operation.label} {case!r}"


@pytest.fixture
def _probes_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of authentication passes options for sockets on, which an application here has none of."""
    # Hypothesis would lean towards what was answered with a success.
    monkeypatch.setattr(hypothesis, "target", lambda *_, **__: 0.0)
    plain = WSGITransport.send

    def send(self: WSGITransport, case: Case[Any], **options: Any) -> Response:
        if options.get("session") is None:
            for name in ("max_redirects", "verify", "cert", "proxies"):
                options.pop(name, None)
        return plain(self, case, **options)

    monkeypatch.setattr(WSGITransport, "send", send)


@pytest.fixture
def _quiet() -> Iterator[None]:
    loggers = [logging.getLogger("django.request"), logging.getLogger("resetdelivery")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.mark.usefixtures("_quiet", "_probes_in_process")
def test_no_request_gets_an_answer_that_the_document_does_not_know(
    make_account: Callable[..., Any], pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.process_time()
    shop, app = service(), Counted()
    for number in range(8):
        shop.ask(reset_fields(make_account(), channels=["email", "sms"]), key=f"key-{number}")
    # Of some another sender sends the text message, and may report of it.
    some = list(Delivery.objects.filter(channel="sms").values_list("pk", flat=True))[::2]
    Delivery.objects.filter(pk__in=some).update(authority="shadow")
    references = [
        str(row.reference) for rows in (ResetIntent.objects.all(), Delivery.objects.all()) for row in rows
    ]
    schemathesis.openapi.format("date-time", _soon())
    failures = list(_failures(_schema(shop, app, references)))
    spent = time.process_time() - started
    report = pytestconfig.pluginmanager.get_plugin("terminalreporter")
    assert report is not None
    with capsys.disabled():
        report.write_line(
            f"\nschemathesis: {app.total()} requests, {len(failures)} failures, {spent:.0f} s of processor"
        )
        for line in app.lines():
            report.write_line(line)
    assert failures == []
    assert app.total() >= LEAST_CASES
    tried = {operation for operation in app.answers if not operation.endswith(" ")}
    assert len(tried) >= 9
