"""The site's Content Security Policy: the same header by Django's middleware and by ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings as django_settings
from django.http import HttpRequest, HttpResponse
from django.test import Client

import examples.marketplace
import resetdelivery
from resetdelivery.csp import HEADER, ContentSecurityPolicyMiddleware, policy_text
from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now

SITE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ADDRESS = re.compile(r"(?:https?:)?//[^\s\"'<>]+")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/", "/accounts/login/", "/accounts/forgot/", "/admin/login/", "/reset/done/"]
)
def test_every_page_has_the_sites_policy(client: Client, path: str) -> None:
    assert client.get(path).headers[HEADER] == SITE


def answered(status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
    def view(_: HttpRequest) -> HttpResponse:
        return HttpResponse(status=status, headers=headers)

    response = ContentSecurityPolicyMiddleware(view)(HttpRequest())
    assert isinstance(response, HttpResponse)
    return response


def test_our_middleware_sends_what_djangos_would() -> None:
    assert answered().headers[HEADER] == SITE


@pytest.mark.skipif(django.VERSION < (6, 0), reason="Django has a middleware of its own from 6.0 on")
def test_both_write_a_policy_alike() -> None:
    from django.utils.csp import build_policy  # type: ignore[import-not-found,unused-ignore]

    assert policy_text(django_settings.SECURE_CSP) == build_policy(django_settings.SECURE_CSP)


def test_a_pages_own_policy_is_left_alone() -> None:
    assert answered(headers={HEADER: "default-src 'none'"}).headers[HEADER] == "default-src 'none'"


@pytest.mark.parametrize("policy", [{}, None])
def test_without_a_policy_there_is_no_header(settings: Any, policy: Any) -> None:
    settings.SECURE_CSP = policy
    assert HEADER not in answered().headers


@pytest.mark.parametrize(
    ("debug", "status", "sent"),
    [(True, 500, False), (True, 404, False), (True, 200, True), (False, 500, True)],
)
def test_djangos_own_page_about_an_error_may_style_itself(
    settings: Any, debug: bool, status: int, sent: bool
) -> None:
    settings.DEBUG = debug
    assert (HEADER in answered(status).headers) is sent


def test_no_template_of_the_shop_names_another_host() -> None:
    folder = Path(examples.marketplace.__file__).parent
    files = [*folder.rglob("*.html"), *folder.rglob("*.css")]
    assert len(files) > 8
    assert [(file.name, found) for file in files for found in ADDRESS.findall(file.read_text())] == []


def test_no_page_of_the_package_loads_anything() -> None:
    folder = Path(resetdelivery.__file__).parent / "templates/resetdelivery"
    plain = list(folder.glob("*.html"))
    assert plain
    assert not [file for file in plain if re.search(r"<(?:script|link|img|style)\b|//", file.read_text())]


#: What the policy forbids: a script or a style in the page itself, data for a script apart.
INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*json)[^>]*>|<style|\sstyle=\"|\son[a-z]+=\"")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/admin/",
        "/admin/marketplace/user/",
        "/admin/marketplace/user/add/",
        "/admin/resetdelivery/resetintent/",
    ],
)
def test_the_admin_works_under_the_policy(admin_client: Client, path: str) -> None:
    answer = admin_client.get(path)
    assert answer.status_code == 200
    assert INLINE.findall(answer.content.decode()) == []


@pytest.mark.django_db
def test_the_story_of_an_intent_is_drawn_under_the_policy(admin_client: Client, account: Any) -> None:
    reference = request_reset(account_ref=str(account.pk), channels=["email", "sms"]).reference
    deliver_now()
    page = admin_client.get(f"/admin/resetdelivery/resetintent/{reference}/change/").content.decode()
    assert "Timeline" in page
    assert INLINE.findall(page) == []
