from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.models import Attempt, ChannelControl, Delivery, IdempotencyKey, ResetIntent
from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now

pytestmark = pytest.mark.django_db

MODELS = [ResetIntent, Delivery, Attempt, ChannelControl]
MARK = "planted-7f3a"


def place(model: Any, page: str, *names: object) -> str:
    return reverse(f"admin:resetdelivery_{model._meta.model_name}_{page}", args=[str(n) for n in names])


def name_of(row: Any) -> object:
    return row.channel if isinstance(row, ChannelControl) else row.reference


@pytest.fixture
def superuser(client: Client, make_account: Callable[..., Any]) -> Client:
    """A browser in which a superuser is signed in."""
    client.force_login(make_account(is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def viewer(client: Client, make_account: Callable[..., Any]) -> Callable[..., Client]:
    """Signs in a member of the staff who may view just the models named."""

    def sign_in(*models: str) -> Client:
        user = make_account(is_staff=True)
        codenames = [f"view_{model}" for model in models]
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def intent(account: Any) -> ResetIntent:
    """An intent whose SMS was refused at first and whose email was accepted; its secrets are marked."""
    request_reset(account_ref=str(account.pk), channels=["email", "sms"], idempotency_key=f"{MARK} key")
    busy = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY)
    deliver_now(outcomes={"sms": [busy]})
    ResetIntent.objects.update(account_ref=f"{MARK} account", account_digest=f"{MARK} digest")
    IdempotencyKey.objects.update(key_digest=f"{MARK} key digest", request_digest=f"{MARK} request")
    Attempt.objects.update(provider_reference=f"{MARK} provider")
    return ResetIntent.objects.get()


@pytest.mark.parametrize("model", MODELS)
def test_each_model_has_a_list_and_a_page(superuser: Client, intent: ResetIntent, model: Any) -> None:
    row = model.objects.first()
    address = place(model, "change", name_of(row))
    listed = superuser.get(place(model, "changelist"))
    assert f'href="{address}' in listed.content.decode()
    assert superuser.get(address).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_not_even_a_superuser_adds_changes_or_deletes(
    superuser: Client, intent: ResetIntent, model: Any
) -> None:
    name = name_of(model.objects.first())
    answers = [
        superuser.get(place(model, "add")),
        superuser.post(place(model, "add"), {}),
        superuser.post(place(model, "change", name), {"state": "open"}),
        superuser.get(place(model, "delete", name)),
        superuser.post(place(model, "delete", name), {"post": "yes"}),
    ]
    assert [answer.status_code for answer in answers] == [403] * 5


@pytest.mark.parametrize("model", MODELS)
def test_no_action_is_offered_on_a_list(superuser: Client, intent: ResetIntent, model: Any) -> None:
    answer = superuser.post(
        place(model, "changelist"), {"action": "delete_selected", "_selected_action": "1"}
    )
    assert 'name="action"' not in superuser.get(place(model, "changelist")).content.decode()
    assert answer.status_code != 500
    assert model.objects.exists()


@pytest.mark.parametrize("model", MODELS)
def test_staff_without_the_permission_see_nothing(
    viewer: Callable[..., Client], intent: ResetIntent, model: Any
) -> None:
    client = viewer()
    name = name_of(model.objects.first())
    pages = [place(model, "changelist"), place(model, "change", name), place(model, "history", name)]
    assert [client.get(page).status_code for page in pages] == [403] * 3


@pytest.mark.parametrize("model", MODELS)
def test_the_view_permission_is_enough(
    viewer: Callable[..., Client], intent: ResetIntent, model: Any
) -> None:
    client = viewer(model._meta.model_name)
    assert client.get(place(model, "changelist")).status_code == 200


def test_an_intents_page_leaves_out_the_tables_that_one_may_not_view(
    viewer: Callable[..., Client], intent: ResetIntent
) -> None:
    page = viewer("resetintent", "delivery").get(place(ResetIntent, "change", intent.reference))
    headings = re.findall(r'<h2 id="(\w+)-heading"', page.content.decode())
    assert headings == ["answer", "timeline", "deliveries"]


@pytest.mark.parametrize("model", MODELS)
def test_nothing_personal_is_on_any_page(superuser: Client, intent: ResetIntent, model: Any) -> None:
    account_ref_is_planted = ResetIntent.objects.filter(account_ref__startswith=MARK).exists()
    rows = list(model.objects.all())
    pages = [place(model, "changelist"), place(model, "add")]
    pages += [place(model, page, name_of(r)) for r in rows for page in ("change", "history", "delete")]
    shown = "".join(superuser.get(page).content.decode() for page in pages)
    assert account_ref_is_planted
    assert str(name_of(rows[0])) in shown
    assert MARK not in shown


def test_of_the_account_reference_only_the_length_is_shown(superuser: Client, intent: ResetIntent) -> None:
    page = superuser.get(place(ResetIntent, "change", intent.reference)).content.decode()
    assert f"not shown (length {len(intent.account_ref)})" in page


def test_a_row_id_leads_nowhere(superuser: Client, intent: ResetIntent) -> None:
    assert superuser.get(place(ResetIntent, "change", intent.pk)).status_code == 302


@pytest.mark.parametrize("model", [ResetIntent, Delivery, Attempt])
def test_the_whole_reference_finds_its_row(superuser: Client, intent: ResetIntent, model: Any) -> None:
    wanted = model.objects.last()
    answer = superuser.get(place(model, "changelist"), {"q": f" {wanted.reference} "})
    assert list(answer.context["cl"].result_list) == [wanted]


@pytest.mark.parametrize("typed", [MARK, "planted", "buyer1@example.com", str(uuid.UUID(int=0)), "1"])
def test_nothing_else_finds_a_row(superuser: Client, intent: ResetIntent, typed: str) -> None:
    for model in (ResetIntent, Delivery, Attempt):
        assert not superuser.get(place(model, "changelist"), {"q": typed}).context["cl"].result_list


def test_part_of_a_reference_finds_nothing(superuser: Client, intent: ResetIntent) -> None:
    part = str(intent.reference)[:13]
    assert not superuser.get(place(ResetIntent, "changelist"), {"q": part}).context["cl"].result_list


@pytest.mark.parametrize(
    ("model", "question"),
    [
        (ResetIntent, "account_ref"),
        (ResetIntent, "account_ref__startswith"),
        (ResetIntent, "account_digest__gt"),
        (ResetIntent, "idempotency_keys__key_digest"),
        (Delivery, "intent__account_ref"),
        (Attempt, "provider_reference__contains"),
        (Attempt, "delivery__intent__account_ref"),
        (ResetIntent, "_to_field"),
    ],
)
def test_an_address_cannot_ask_about_what_is_not_shown(
    superuser: Client, intent: ResetIntent, model: Any, question: str
) -> None:
    answer = superuser.get(place(model, "changelist"), {question: "account_ref"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("model", "chosen", "found"),
    [
        (ResetIntent, {"channel": "sms"}, 1),
        (ResetIntent, {"state__exact": "closed"}, 0),
        (Delivery, {"state__exact": "accepted"}, 1),
        (Delivery, {"channel__exact": "sms", "outcome__exact": "transient"}, 1),
        (Delivery, {"channel__exact": "email", "outcome__exact": "transient"}, 0),
        (Delivery, {"reason": "provider_busy"}, 1),
        (Delivery, {"intent__created_at__lt": "2020-01-01 00:00:00+00:00"}, 0),
        (Attempt, {"delivery__channel__exact": "sms"}, 1),
        (Attempt, {"outcome__exact": "accepted"}, 1),
        (Attempt, {"reason": "provider_busy"}, 1),
        (Attempt, {"started_at__gte": "2020-01-01 00:00:00+00:00"}, 2),
        (ChannelControl, {"paused__exact": "1"}, 0),
    ],
)
def test_lists_are_filtered(
    superuser: Client, intent: ResetIntent, model: Any, chosen: dict[str, str], found: int
) -> None:
    assert superuser.get(place(model, "changelist"), chosen).context["cl"].result_count == found


def test_a_site_of_ones_own_links_to_its_own_pages(
    superuser: Client, intent: ResetIntent, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.hosts.ops_admin_urls"
    pages = ["/ops/resetdelivery/resetintent/", f"/ops/resetdelivery/resetintent/{intent.reference}/change/"]
    pages += [f"/ops/resetdelivery/delivery/{d.reference}/change/" for d in intent.deliveries.all()]
    shown = "".join(superuser.get(page).content.decode() for page in pages)
    assert shown.count(f"/ops/resetdelivery/resetintent/{intent.reference}/change/") >= 3
    assert "/admin/resetdelivery/" not in shown
