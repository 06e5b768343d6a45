"""As much of a web browser as a person needs for a reset: cookies, forms, redirects."""

from __future__ import annotations

import dataclasses
import html.parser
import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request

SECONDS = 10.0


class PageFailure(Exception):
    """A page did not do what a person expects of it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as it arrived, after redirects. `forms` are those with a password or a text to fill in."""

    url: str
    text: str = dataclasses.field(repr=False)
    forms: tuple[Form, ...] = dataclasses.field(repr=False)

    def form_with(self, field: str) -> Form:
        """The form that has this field. Raises PageFailure, naming the page's path, when there is none."""
        for form in self.forms:
            if field in form.fields:
                return form
        path = urllib.parse.urlsplit(self.url).path
        raise PageFailure(f"The page at {shorten(path)} has no form with a field '{field}'.")

    def has_field(self, field: str) -> bool:
        """Whether any form of the page has this field."""
        return any(field in form.fields for form in self.forms)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Where a form goes, and its fields with the values they come with."""

    action: str
    fields: dict[str, str] = dataclasses.field(repr=False)


class Browser:
    """One visitor with cookies of their own."""

    def __init__(self) -> None:
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        # No proxy of the environment's: all pages are on this machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

    def get(self, url: str) -> Page:
        """Open a page. Raises PageFailure when it does not answer, or answers with an error."""
        return self._open(urllib.request.Request(url))

    def submit(self, page: Page, **filled: str) -> Page:
        """Fill in the form that has the first of these fields, send it, and open what comes back."""
        form = page.form_with(next(iter(filled)))
        body = urllib.parse.urlencode({**form.fields, **filled}).encode()
        target = urllib.parse.urljoin(page.url, form.action)
        return self._open(urllib.request.Request(target, data=body, headers={"Referer": page.url}))

    def _open(self, request: urllib.request.Request) -> Page:
        path = shorten(urllib.parse.urlsplit(request.full_url).path)
        try:
            with self._opener.open(request, timeout=SECONDS) as answer:
                text = answer.read().decode()
                url = answer.geturl()
        except urllib.error.HTTPError as error:
            error.close()
            raise PageFailure(f"{request.get_method()} {path} was answered with {error.code}.") from None
        except OSError as error:
            raise PageFailure(
                f"{request.get_method()} {path} got no answer ({type(error).__name__})."
            ) from None
        parser = _Forms()
        parser.feed(text)
        return Page(url=url, text=text, forms=tuple(parser.forms))


class _Forms(html.parser.HTMLParser):
    """Collects the forms of a page with their input fields."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(action=given.get("action", ""), fields={}))
        elif tag == "input" and self.forms and given.get("name"):
            self.forms[-1].fields[given["name"]] = given.get("value", "")


def shorten(path: str) -> str:
    """A path without what may be a token: parts of over 20 characters are left out."""
    return "/".join(part if len(part) <= 20 else "…" for part in path.split("/"))
