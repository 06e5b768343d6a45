"""The stand-in for a person's browser, against a real HTTP server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest

from examples.demo.browser import Browser, PageFailure, shorten

LONG = "c7x2kq-0123456789abcdef0123456789abcdef"
FORM = """
<form action="/search"><input name="q"></form>
<form method="post"><input type="hidden" name="key" value="k&amp;1"><input name="email"></form>
"""


class Shop(BaseHTTPRequestHandler):
    """Sets a cookie with its form, and answers a post with what it got."""

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/form")
            self.end_headers()
        elif self.path == "/form":
            self._page(FORM, ("Set-Cookie", "csrf=crumb"))
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._page(f"{self.path} {self.headers['Cookie']} {sorted(parse_qs(body).items())}")

    def _page(self, text: str, *headers: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def shop() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Shop) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_form_is_sent_with_its_hidden_fields_and_the_cookie(shop: str) -> None:
    browser = Browser()
    answer = browser.submit(browser.get(shop + "/form"), email="ada@example.com")
    assert answer.text == "/form csrf=crumb [('email', ['ada@example.com']), ('key', ['k&1'])]"


def test_a_page_is_known_by_the_address_it_led_to(shop: str) -> None:
    assert Browser().get(shop + "/moved").url == shop + "/form"


def test_the_fields_of_a_page_are_known(shop: str) -> None:
    page = Browser().get(shop + "/form")
    assert [page.has_field("email"), page.has_field("password")] == [True, False]


def test_a_form_that_is_not_there_is_named_with_its_page(shop: str) -> None:
    browser = Browser()
    with pytest.raises(PageFailure, match="The page at /form has no form with a field 'password'"):
        browser.submit(browser.get(shop + "/form"), password="secret")


def test_an_error_page_fails_with_its_status_and_without_the_token(shop: str) -> None:
    with pytest.raises(PageFailure) as caught:
        Browser().get(f"{shop}/reset/{LONG}/")
    assert str(caught.value) == "GET /reset/…/ was answered with 404."


def test_a_server_that_is_not_there_fails_without_its_address() -> None:
    with pytest.raises(PageFailure, match=r"GET /form got no answer \(URLError\)"):
        Browser().get("http://127.0.0.1:1/form")


@pytest.mark.parametrize(
    ("path", "short"),
    [("/accounts/forgot/", "/accounts/forgot/"), (f"/reset/MQ/{LONG}/", "/reset/MQ/…/"), ("", "")],
)
def test_a_path_is_shown_without_what_may_be_a_token(path: str, short: str) -> None:
    assert shorten(path) == short
