from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog
from django.test import Client

from config.logging import logging_config

TOKEN = "ditab6-378a2f1dd9e42bb6548118d507ac006d"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    yield
    logging_config(form="console", debug=False)


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_reset_token_in_a_log_line_is_replaced(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    logging_config(form=form, debug=False)
    logging.getLogger("django.request").error("Internal Server Error: %s", f"/reset/MQ/{TOKEN}/")
    written = capsys.readouterr().err
    assert "/reset/[link]/" in written
    assert TOKEN not in written


def test_a_reset_token_in_a_traceback_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    logging_config(form="json", debug=False)
    try:
        int(TOKEN)
    except ValueError:
        logging.getLogger("django.request").exception("failed")
    written = capsys.readouterr().err
    assert "ValueError" in written
    assert TOKEN not in written


@pytest.mark.django_db
def test_a_page_that_breaks_on_a_link_does_not_log_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logging_config(form="json", debug=False)

    def broken(*_: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("resetdelivery.views.directory_token_generator", broken)
    response = Client(raise_request_exception=False).get(f"/reset/MQ/{TOKEN}/")
    written = capsys.readouterr().err
    assert response.status_code == 500
    assert "broken on purpose" in written
    assert TOKEN not in written


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_shows_no_local_variables(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    logging_config(form=form, debug=True)
    secret_of_a_frame = "a-value-that-only-a-frame-holds"
    try:
        int(secret_of_a_frame[:1])
    except ValueError:
        structlog.wrap_logger(logging.getLogger("resetdelivery")).exception("failed")
    written = capsys.readouterr().err
    assert "ValueError" in written
    assert secret_of_a_frame not in written
