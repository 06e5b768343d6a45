"""The inbox: two pages, readable on a phone, without anything from elsewhere."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterable

from notifications.testing.provider.letters import Letter

CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: For an email's own HTML: no scripts, nothing loaded, shown in our frame only.
MAIL_CSP = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)

_LINK = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)]")
_NAMES = {"email": "Email", "sms": "Text message"}


def inbox_page(letters: Iterable[Letter]) -> str:
    """Everything received, newest first."""
    items = "".join(_item(letter) for letter in letters)
    empty = "" if items else '<p class="empty">Nothing has arrived yet. This page shows it when it does.</p>'
    main = f"""
<h1>Inbox</h1>
<p class="lead">Every email and text message that was sent, newest first.</p>
<p id="news" class="news" role="status" aria-live="polite"></p>
{empty}<ol id="letters" class="letters" reversed>{items}</ol>"""
    return _page("Inbox", main, '<script src="/assets/inbox.js" defer></script>')


def letter_page(letter: Letter) -> str:
    """One message."""
    body = _email_body(letter) if letter.channel == "email" else _sms_body(letter)
    title = letter.subject or f"Text message to {letter.recipient}"
    main = f"""
<p class="back"><a href="/">Back to the inbox</a></p>
<h1 dir="auto">{html.escape(title)}</h1>
<dl class="facts">
<div><dt>From</dt><dd>{html.escape(letter.sender)}</dd></div>
<div><dt>To</dt><dd>{html.escape(letter.recipient)}</dd></div>
<div><dt>Received</dt><dd>{_time(letter.received_at)}</dd></div>
</dl>
{body}
<details>
<summary>Source</summary>
<pre class="source" tabindex="0">{html.escape(letter.source)}</pre>
</details>"""
    return _page(title, main)


def missing_page() -> str:
    """For an address that has nothing."""
    return _page("Not found", '<h1>Not found</h1><p><a href="/">Back to the inbox</a></p>')


def email_document(letter: Letter) -> str:
    """An email's HTML for the frame; its links open in a new tab."""
    base = '<base target="_blank">'
    return re.sub(r"(?i)<head[^>]*>", lambda match: match[0] + base, letter.html, count=1)


def linked(text: str) -> str:
    """``text`` as HTML with its addresses clickable."""
    pieces = []
    position = 0
    for match in _LINK.finditer(text):
        pieces.append(html.escape(text[position : match.start()]))
        address = html.escape(match[0])
        pieces.append(f'<a href="{address}" target="_blank" rel="noreferrer noopener">{address}</a>')
        position = match.end()
    return "".join(pieces) + html.escape(text[position:])


def _email_body(letter: Letter) -> str:
    frame = (
        f'<h2 id="designed">As designed</h2><iframe class="mail" title="The email as designed" '
        f'sandbox="allow-popups allow-popups-to-escape-sandbox" src="/messages/{letter.id}/html"></iframe>'
    )
    return (
        f'<h2 id="text">As text</h2><pre class="text" dir="auto">{linked(letter.text)}</pre>'
        f"{frame if letter.html else ''}"
    )


def _sms_body(letter: Letter) -> str:
    return f'<div class="phone"><p class="bubble" dir="auto">{linked(letter.text)}</p></div>'


def _item(letter: Letter) -> str:
    first_line = letter.text.strip().partition("\n")[0]
    return f"""
<li data-id="{letter.id}"><a class="letter" href="/messages/{letter.id}">
<span class="badge {letter.channel}">{_NAMES.get(letter.channel, letter.channel)}</span>
<span class="to">{html.escape(letter.recipient)}</span>
{_time(letter.received_at)}
<span class="subject" dir="auto">{html.escape(letter.subject or first_line)}</span>
</a></li>"""


def _time(moment: dt.datetime) -> str:
    iso = moment.isoformat(timespec="seconds")
    return f'<time datetime="{iso}">{moment:%d %b %Y, %H:%M:%S} UTC</time>'


def _page(title: str, main: str, head: str = "") -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · Demo inbox</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/inbox.css">
{head}
</head>
<body>
<header class="top">
<a href="/">Demo inbox</a><span>A local provider: nothing leaves this machine</span>
</header>
<main>{main}
</main>
</body>
</html>
"""
