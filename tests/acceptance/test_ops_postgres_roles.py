"""``ops/postgres/roles.sql`` on a real PostgreSQL: each process works in its role, and can do no more."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from notifications.testing.provider import Behaviour, Fault
from resetdelivery.api_keys import create_client_key
from resetdelivery.clock import database_now
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import (
    ApiKey,
    Attempt,
    Delivery,
    IdempotencyKey,
    JobRun,
    LimitUse,
    ResetIntent,
)
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.database_roles import DatabaseRoles
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.waiting import eventually
from tests.conftest import age
from tests.steps import answer, record, store, take

pytestmark = [pytest.mark.acceptance, pytest.mark.django_db]


@pytest.fixture(scope="module")
def roles(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[DatabaseRoles]:
    if connection.vendor != "postgresql":
        pytest.skip("needs roles, which SQLite has none of: runs on PostgreSQL")
    made = DatabaseRoles()
    yield made
    made.remove()


WEB_PROCESS = "tests.acceptance.harness.web_process"


def in_state(number: int, state: str) -> bool:
    return Delivery.objects.filter(state=state).count() == number


def test_the_processes_do_all_their_work_in_their_roles(
    stage: Stage, roles: DatabaseRoles, make_accounts: MakeAccounts
) -> None:
    (ref,) = make_accounts(1)
    busy = Fault(channel="email", behaviour=Behaviour.REPLY, phase="rcpt", code=451)
    stage.provider.faults.add(busy)
    stage.run(WEB_PROCESS, "admit", ref, DATABASE_URL=roles.url("web"))
    assert in_state(1, "cancelled")  # what the first two requests admitted
    stage.worker("email,sms", DATABASE_URL=roles.url("worker"))
    stage.worker("control", DATABASE_URL=roles.url("control"))
    stage.beat(DATABASE_URL=roles.url("control"))
    eventually(lambda: in_state(2, "accepted"), "both accepted, one of them at the second try")
    eventually(lambda: in_state(3, "cancelled"), "the decoys ended")
    attempt = Attempt.objects.filter(delivery__channel="email").latest("number")
    assert attempt.number > 1
    stage.run(WEB_PROCESS, "receipt", str(attempt.reference), DATABASE_URL=roles.url("web"))
    assert in_state(1, "delivered")
    stage.run(WEB_PROCESS, "notice", ref, DATABASE_URL=roles.url("web"))
    eventually(lambda: in_state(3, "accepted"), "the text message, and the notice on both channels")


def test_the_control_role_counts_and_purges(stage: Stage, roles: DatabaseRoles) -> None:
    answer(record(take(ids=[store()[0].pk])))
    request_reset(submitted="nobody@shop.example", channels=["email"])
    stage.worker("email", DATABASE_URL=roles.url("worker"))
    eventually(lambda: in_state(1, "cancelled"), "the decoy ended")
    age(40 * 86400)
    long_ago = database_now(connection) - dt.timedelta(days=40)
    IdempotencyKey.objects.update(created_at=long_ago)
    stage.run("django", "purge", DATABASE_URL=roles.url("control"))
    assert [model.objects.count() for model in (ResetIntent, Attempt, IdempotencyKey, LimitUse)] == [0] * 4
    assert set(JobRun.objects.values_list("name", flat=True)) >= {"roll_up", "purge"}


def test_the_private_listener_hands_work_out_in_its_role(
    stage: Stage, roles: DatabaseRoles, make_accounts: MakeAccounts
) -> None:
    key = create_client_key(client="workers", scopes=[Scope.WORK_CLAIM], who="a test")
    for ref in make_accounts(2):
        request_reset(account_ref=ref, channels=["email"])
    stage.run(WEB_PROCESS, "claim", key.text, DATABASE_URL=roles.url("api"))
    assert in_state(1, "accepted")
    assert in_state(1, "pending")
    assert ApiKey.objects.get().last_used_at is not None


def test_the_file_can_be_run_again(roles: DatabaseRoles) -> None:
    roles.apply()
    roles.execute("web", "SELECT 1")


ALLOWED = [
    ("web", "UPDATE marketplace_user SET password = 'x'"),
    ("api", "SELECT secret_digest FROM resetdelivery_apikey"),
    ("api", "UPDATE resetdelivery_apikey SET last_used_at = now()"),
    ("api", "SELECT why FROM resetdelivery_auditentry"),
    ("control", "DELETE FROM resetdelivery_limituse"),
    ("control", "SELECT id FROM resetdelivery_limituse FOR NO KEY UPDATE SKIP LOCKED"),
    ("control", "SELECT id FROM resetdelivery_idempotencykey FOR NO KEY UPDATE SKIP LOCKED"),
    ("control", "DELETE FROM resetdelivery_resetintent"),
    ("migrate", "DELETE FROM resetdelivery_auditentry"),
    ("migrate", "ALTER TABLE resetdelivery_auditentry ADD COLUMN another integer"),
    ("migrate", "INSERT INTO django_migrations (app, name, applied) VALUES ('x', 'y', now())"),
    ("migrate", "DELETE FROM resetdelivery_apikey"),
]


@pytest.mark.parametrize(("role", "statement"), ALLOWED)
def test_a_role_may_do_what_its_processes_do(roles: DatabaseRoles, role: str, statement: str) -> None:
    roles.execute(role, statement)


#: What nobody but the owner may: not even whoever took over a process.
NOBODY = [
    "DELETE FROM resetdelivery_auditentry",
    "UPDATE resetdelivery_auditentry SET why = ''",
    "DELETE FROM resetdelivery_attempt",
    "DELETE FROM resetdelivery_delivery",
    "DELETE FROM resetdelivery_resetintent",
    "DELETE FROM resetdelivery_idempotencykey",
    "TRUNCATE resetdelivery_limituse",
    "UPDATE resetdelivery_resetintent SET account_ref = 'x'",
    "UPDATE resetdelivery_resetintent SET expires_at = now()",
    "UPDATE resetdelivery_delivery SET expires_at = now()",
    "UPDATE resetdelivery_delivery SET authority = 'pipeline'",
    "UPDATE resetdelivery_delivery SET suppressed = ''",
    "UPDATE resetdelivery_limituse SET counted = false",
    "UPDATE resetdelivery_attempt SET started_at = now()",
    "INSERT INTO resetdelivery_apikey (key_id) VALUES ('x')",
    "UPDATE resetdelivery_rollupstate SET closed_before = now()",
    "UPDATE resetdelivery_outcomeminute SET attempts = 0",
    "UPDATE resetdelivery_apikey SET secret_digest = 'x'",
    "UPDATE resetdelivery_apikey SET revoked_at = NULL",
    "ALTER TABLE resetdelivery_auditentry ADD COLUMN another integer",
    "CREATE TABLE another (id integer)",
    "SELECT * FROM django_session",
]
#: The control worker deletes what is kept no longer; it changes nothing else of it.
NOT_EVEN_CONTROL = [
    "DELETE FROM resetdelivery_auditentry",
    "UPDATE resetdelivery_auditentry SET why = ''",
    "DELETE FROM resetdelivery_outcometotal",
    "DELETE FROM resetdelivery_eventtotal",
    "UPDATE resetdelivery_resetintent SET expires_at = now()",
    "UPDATE resetdelivery_delivery SET authority = 'pipeline'",
    "UPDATE resetdelivery_limituse SET counted = false",
    "UPDATE marketplace_user SET password = 'x'",
    "SELECT secret_digest FROM resetdelivery_apikey",
]
FORBIDDEN = [
    *((role, statement) for role in ("web", "worker", "api") for statement in NOBODY),
    *(("control", statement) for statement in NOT_EVEN_CONTROL),
    ("worker", "DELETE FROM resetdelivery_limituse"),
    ("web", "INSERT INTO resetdelivery_attempt (number) VALUES (1)"),
    ("web", "UPDATE resetdelivery_attempt SET outcome = 'accepted'"),
    ("web", "UPDATE resetdelivery_delivery SET lease_token = 9"),
    ("web", "UPDATE resetdelivery_delivery SET attempts = 0"),
    ("web", "UPDATE resetdelivery_channelcontrol SET paused = false"),
    ("web", "DELETE FROM resetdelivery_limituse"),
    ("web", "SELECT why FROM resetdelivery_auditentry"),
    ("web", "SELECT secret_digest FROM resetdelivery_apikey"),
    ("worker", "UPDATE marketplace_user SET password = 'x'"),
    ("worker", "INSERT INTO resetdelivery_resetintent (account_ref) VALUES ('x')"),
    ("worker", "SELECT why FROM resetdelivery_auditentry"),
    ("worker", "SELECT secret_digest FROM resetdelivery_apikey"),
    ("worker", "UPDATE resetdelivery_attempt SET receipt = 'delivered'"),
    ("api", "UPDATE marketplace_user SET password = 'x'"),
    ("migrate", "SELECT * FROM marketplace_user"),
]


@pytest.mark.parametrize(("role", "statement"), FORBIDDEN)
def test_a_role_is_refused_what_its_processes_never_do(
    roles: DatabaseRoles, role: str, statement: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        roles.execute(role, statement)
