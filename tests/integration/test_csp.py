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
from resetdelivery.csp import HEADER, PAGE_POLICY, ContentSecurityPolicyMiddleware, Policy, policy_text
from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now

SITE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
BARE = "upgrade-insecure-requests; img-src a.example"
NONCE = "<CSP_NONCE_SENTINEL>"
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


#: What ``SECURE_CSP`` may hold in Django 6.1, and the header that comes of it.
POLICIES: dict[str, tuple[Policy, str]] = {
    "the site's": (django_settings.SECURE_CSP, SITE),
    "the page's": (dict(PAGE_POLICY), policy_text(PAGE_POLICY)),
    "tuple": ({"img-src": ("'self'", "data:")}, "img-src 'self' data:"),
    "set": ({"img-src": {"data:", "'self'", "blob:"}}, "img-src 'self' blob: data:"),
    "one source": ({"img-src": "'self'"}, "img-src 'self'"),
    "one text of two": ({"img-src": "'self' data:"}, "img-src 'self' data:"),
    "bare": ({"upgrade-insecure-requests": True, "img-src": ["a.example"]}, BARE),
    "left out": ({"script-src": None, "img-src": "'self'", "style-src": False}, "img-src 'self'"),
    "no source": ({"script-src": [], "img-src": "'self'", "style-src": ()}, "img-src 'self'"),
    "nonce": (
        {"script-src": ["'self'", NONCE], "style-src": [NONCE], "font-src": NONCE},
        "script-src 'self'",
    ),
    "nothing left": ({"script-src": None}, ""),
}


@pytest.mark.parametrize(("policy", "header"), POLICIES.values(), ids=POLICIES)
def test_a_policy_is_written_whatever_its_values_are(policy: Policy, header: str) -> None:
    assert policy_text(policy) == header


@pytest.mark.skipif(django.VERSION < (6, 1), reason="Django has had a middleware of its own since 6.0")
@pytest.mark.parametrize("policy", [policy for policy, _ in POLICIES.values()], ids=POLICIES)
def test_both_write_a_policy_alike(policy: Any) -> None:
    from django.utils.csp import build_policy  # type: ignore[import-not-found,unused-ignore]

    assert policy_text(policy) == build_policy(policy)


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
