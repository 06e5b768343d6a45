"""The exporter for OTLP over HTTP, and a receiver that decodes what it sends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from resetdelivery.telemetry import traces
from resetdelivery.telemetry.traces import encoded_sample, otel
from tests.steps import answer, record, take
from tests.trace_receiver import Receiver, receiver
from tests.traced import ask

OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter"
Settings = Callable[..., None]


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiver() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.endpoint)
        otel.resource.cache_clear()
        yield found
    otel.resource.cache_clear()


@pytest.fixture
def otlp(traced: object, change: Settings) -> None:
    change(TRACE_EXPORTER=OTLP)


@pytest.mark.django_db
@pytest.mark.usefixtures("otlp")
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_trace_arrives_with_its_ids_its_state_and_its_attributes(
    account: Any, collected: Receiver, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    intent = ask(account)
    answer(record(take()))
    assert traces.export_closed() == traces.Exported(traces=1)
    assert sorted(collected.names()) == ["admit reset", "process email", "submit email", "wait email"]
    assert {span.trace_id.hex() for _, span in collected.spans} == {intent.reference.hex}
    assert {span.trace_state for _, span in collected.spans} == {"ot=th:0"}
    (submit,) = (span for _, span in collected.spans if span.name == "submit email")
    values = {one.key: one.value for one in submit.attributes}
    assert values["resetdelivery.outcome"].string_value == "accepted"
    assert values["resetdelivery.attempt"].int_value == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("otlp")
@pytest.mark.parametrize(("named", "told"), [("", "resetdelivery"), ("shop-mail", "shop-mail")])
def test_the_service_has_the_name_that_the_environment_gives_it(
    account: Any, collected: Receiver, monkeypatch: pytest.MonkeyPatch, named: str, told: str
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", named)
    ask(account)
    answer(record(take()))
    traces.export_closed()
    assert {resource["service.name"] for resource, _ in collected.spans} == {told}


@pytest.mark.django_db
@pytest.mark.usefixtures("otlp")
def test_what_the_collector_could_not_take_stays(account: Any, collected: Receiver) -> None:
    collected.status = 400
    ask(account)
    answer(record(take()))
    assert traces.export_closed() == traces.Exported(refused=True)


@pytest.mark.django_db
@pytest.mark.usefixtures("otlp")
def test_the_hosts_own_tracing_is_left_alone(account: Any, collected: Receiver) -> None:
    before = trace.get_tracer_provider()
    ask(account)
    answer(record(take()))
    traces.export_closed()
    assert trace.get_tracer_provider() is before


def test_a_trace_has_the_size_that_the_documentation_says() -> None:
    sample = encoded_sample()
    assert sample is not None
    assert (sample.spans, sample.worst_spans) == (4, 51)
    assert sample.typical_bytes < 1800
    assert sample.batch_bytes < 1500
    assert sample.batch_gzip_bytes < 200
    assert sample.worst_bytes < 20_000


# Processes of their own.

#: A span, a fork, and a span from each of the two processes, which end without a pause.
FORKS = """
import os
import django
django.setup()
from resetdelivery.telemetry import traces
traces.stale_token()
child = os.fork()
traces.stale_token()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
#: What a project imports that traces nothing, where the packages are there, and where they are not.
IMPORTS = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name)
if sys.argv[1] == "missing":
    sys.meta_path.insert(0, Missing())
import django
django.setup()
import resetdelivery.poller, resetdelivery.services, resetdelivery.tasks, resetdelivery.views
from resetdelivery.telemetry import traces
traces.stale_token()
assert traces.export_closed() == traces.Exported()
assert "resetdelivery.telemetry.traces.otel" not in sys.modules
assert (traces.encoded_sample() is None) is (sys.argv[1] == "missing")
"""
#: A span, and from Python 3.12 on no thread begins once the interpreter ends; before, as if it were so.
ENDS = """
import atexit, threading
import django
django.setup()
from resetdelivery.telemetry import traces
traces.stale_token()
def no_more(*_):
    raise RuntimeError("can't create new thread at interpreter shutdown")
@atexit.register
def end():
    threading.Thread.start = no_more
"""
#: A project that uses another exporter than that for OTLP.
NO_OTLP = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("opentelemetry.exporter"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import django
django.setup()
from resetdelivery.telemetry.traces import encoded_sample, switch
assert switch.has_packages()
assert encoded_sample() is None
"""
#: Settings of the process, on top of the test run's.
SETTINGS = """
from tests.settings import *
from tests.settings import RESETDELIVERY
RESETDELIVERY = {**RESETDELIVERY, "TRACE_EXPORTER": %r}
"""


def run(code: str, *arguments: str, folder: Path, exporter: str, **environment: str) -> str:
    """Run ``code`` in a process of its own; what it printed as an error, and that it had none."""
    (folder / "traced_settings.py").write_text(SETTINGS % exporter)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "traced_settings",
            "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).resolve().parents[2])]),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_process_and_the_one_that_it_forked_say_what_they_have_to_before_they_end(tmp_path: Path) -> None:
    with receiver() as found:
        run(FORKS, folder=tmp_path, exporter=OTLP, OTEL_EXPORTER_OTLP_ENDPOINT=found.endpoint)
        assert found.names() == ["stale_token"] * 3
        assert len({span.span_id for _, span in found.spans}) == 3


@pytest.mark.parametrize("packages", ["there", "missing"])
def test_where_nothing_is_traced_the_packages_of_opentelemetry_are_not_needed(
    tmp_path: Path, packages: str
) -> None:
    run(IMPORTS, packages, folder=tmp_path, exporter="")


def test_a_process_that_can_begin_no_more_threads_says_what_it_has_to_before_it_ends(tmp_path: Path) -> None:
    with receiver() as found:
        run(ENDS, folder=tmp_path, exporter=OTLP, OTEL_EXPORTER_OTLP_ENDPOINT=found.endpoint)
        assert found.names() == ["stale_token"]


def test_a_process_ends_though_the_exporter_does_not_answer(tmp_path: Path) -> None:
    assert run(ENDS, folder=tmp_path, exporter="tests.span_sink.Stalled") == ""


def test_without_the_exporter_for_otlp_nothing_is_measured(tmp_path: Path) -> None:
    run(NO_OTLP, folder=tmp_path, exporter="")
