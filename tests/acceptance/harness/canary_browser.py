"""A browser and another service, as far as the canary test needs them: every answer is kept."""

from __future__ import annotations

import http.client
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping

#: A name with its value, as a page's form has hidden ones.
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


class Browser:
    """Keeps cookies, follows redirections, sends forms back with what is hidden in them.

    ``answers`` are the headers and bodies of everything that was answered. ``fixed`` are headers of
    every request.
    """

    def __init__(self, base: str, fixed: Mapping[str, str] | None = None) -> None:
        self.base = base
        self.answers: list[bytes] = []
        self._fixed = dict(fixed or {})
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def get(self, path: str, **headers: str) -> tuple[int, bytes, str]:
        """Status, body, and the path that it led to."""
        return self._open(urllib.request.Request(self.base + path, headers=self._headers(headers)))

    def send(
        self, path: str, body: object, method: str = "POST", *, is_kept: bool = True, **headers: str
    ) -> tuple[int, bytes]:
        """Status and body of the answer to a body of JSON, or of octets as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **self._headers(headers)}
        request = urllib.request.Request(self.base + path, data, sent, method=method)
        return self._open(request, is_kept=is_kept)[:2]

    def fill_in(self, path: str, **fields: str) -> int:
        """The status of what follows the form at ``path``, wherever that led to."""
        _, page, where = self.get(path)
        form = {**dict(_HIDDEN.findall(page.decode())), **fields}
        data = urllib.parse.urlencode(form).encode()
        return self._open(urllib.request.Request(self.base + where, data, self._headers({})))[0]

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return self._fixed | {name.replace("_", "-"): value for name, value in headers.items()}

    def _open(self, request: urllib.request.Request, *, is_kept: bool = True) -> tuple[int, bytes, str]:
        try:
            answer = self._opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            body, where = answer.read(), urllib.parse.urlsplit(answer.url).path
            self.answers += [f"{answer.status} {answer.headers}\n".encode() + body] if is_kept else []
        return answer.status, body, where

    def answers_at(self, path: str) -> bool:
        """Whether a server is there, whatever it says."""
        try:
            self.get(path)
        except (OSError, http.client.HTTPException):
            return False
        return True
