from __future__ import annotations

from typing import Any

import pytest

from notifications.channels import Channel
from resetdelivery.domain.states import DeliveryState
from tests.conftest import the_delivery
from tests.integration import work_calls
from tests.integration.external_steps import reset_for
from tests.integration.work_calls import claim, moment
from tests.internal_api import Service, problem
from tests.steps import store

pytestmark = pytest.mark.django_db


@pytest.fixture
def mailer(db: None) -> Service:
    return work_calls.mailer()


def test_claimed_deliveries_come_with_nothing_personal(mailer: Service, account: Any) -> None:
    reset_for(account)
    answer = claim(mailer)
    row = the_delivery()
    assert answer.status_code == 200
    assert row.lease_expires_at is not None
    assert answer.get_json() == {
        "deliveries": [
            {
                "reference": str(row.reference),
                "channel": "email",
                "lease_token": "1",
                "lease_expires_at": moment(row.lease_expires_at),
                "expires_at": moment(row.expires_at),
            }
        ]
    }


def test_a_claim_names_its_worker_and_its_channel(mailer: Service) -> None:
    store(1, Channel.EMAIL, overdue=5)
    store(1, Channel.SMS, overdue=5)
    (found,) = claim(mailer, channel="sms").get_json()["deliveries"]
    assert found["channel"] == "sms"
    assert the_delivery(Channel.SMS).lease_owner == "api:mailer:mailer-1"


def test_where_nothing_is_due_the_list_is_empty(mailer: Service) -> None:
    assert claim(mailer).get_json() == {"deliveries": []}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"limit": 0}, "#/limit"),
        ({"limit": 51}, "#/limit"),
        ({"limit": "10"}, "#/limit"),
        ({"limit": True}, "#/limit"),
        ({"limit": 1.5}, "#/limit"),
        ({"lease_seconds": 3}, "#/lease_seconds"),
        ({"lease_seconds": 301}, "#/lease_seconds"),
        ({"lease_seconds": -1}, "#/lease_seconds"),
        ({"lease_seconds": "30"}, "#/lease_seconds"),
        ({"channel": "fax"}, "#/channel"),
        ({"channel": ["email"]}, "#/channel"),
        ({"worker_id": ""}, "#/worker_id"),
        ({"worker_id": "a:b"}, "#/worker_id"),
        ({"worker_id": "a\n"}, "#/worker_id"),
        ({"worker_id": "x" * 33}, "#/worker_id"),
        ({"account_id": "1"}, "#"),
    ],
)
def test_a_claim_that_is_out_of_bounds_is_refused_and_takes_nothing(
    mailer: Service, fields: dict[str, Any], pointer: str
) -> None:
    store(overdue=5)
    answer = claim(mailer, **fields)
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")
    assert [error["pointer"] for error in answer.get_json()["errors"]] == [pointer]
    assert the_delivery().state == DeliveryState.PENDING


def test_the_problem_of_a_short_lease_says_the_least_allowed(mailer: Service) -> None:
    assert "at least 20 s" in claim(mailer, lease_seconds=3).get_json()["detail"]
