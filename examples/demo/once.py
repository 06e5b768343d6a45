"""One reset through the shop's pages and the inbox alone, as a person would do it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from examples.demo import programs
from examples.demo.browser import Browser
from examples.demo.demo import Demo
from examples.demo.inbox import CHANNELS, Inbox, Message

LOGIN_PATH = "/accounts/login/"
POLL_SECONDS = 0.1


class ResetFailure(Exception):
    """The reset did not go all the way; the text says where it stopped."""


def reset(demo: Demo, patience: float, report: Callable[[str], None]) -> None:
    """Ask for a reset, wait up to `patience` seconds for both messages, use the link, sign in.

    Raises ResetFailure or PageFailure with the reason.
    """
    shop, inbox, account = Browser(), Inbox(demo.addresses.inbox), demo.first_account
    already = len(inbox.messages())
    shop.submit(shop.get(demo.addresses.web + programs.FORGOT_PATH), email=account.email)
    report("asked for a reset in the shop")
    arrived = _wait_for_both(inbox, already, demo, patience, report)
    password = secrets.token_urlsafe(12)
    _set_password(shop, _link(arrived["email"]), password)
    report("followed the link and set a new password")
    _sign_in(demo.addresses.web, account.username, password)
    report("signed in with the new password")


def _wait_for_both(
    inbox: Inbox, already: int, demo: Demo, patience: float, report: Callable[[str], None]
) -> dict[str, Message]:
    arrived: dict[str, Message] = {}
    asked_at = time.monotonic()
    while len(arrived) < len(CHANNELS):
        for message in inbox.messages()[already:]:
            if message.channel not in arrived:
                arrived[message.channel] = message
                report(f"{CHANNELS[message.channel]} arrived after {time.monotonic() - asked_at:.1f} s")
        if time.monotonic() - asked_at > patience:
            missing = " and ".join(name for channel, name in CHANNELS.items() if channel not in arrived)
            left_out = f" Not running: {', '.join(demo.left_out)}." if demo.left_out else ""
            raise ResetFailure(f"{missing} did not arrive within {patience:g} s.{left_out}")
        time.sleep(POLL_SECONDS)
    return arrived


def _link(message: Message) -> str:
    if message.link is None:
        raise ResetFailure("The email arrived, but there is no link in it.")
    return message.link


def _set_password(shop: Browser, link: str, password: str) -> None:
    page = shop.get(link)
    if not page.has_field("new_password1"):
        raise ResetFailure("The link in the email is dead: its page has no form for a new password.")
    done = shop.submit(page, new_password1=password, new_password2=password)
    if done.has_field("new_password1"):
        raise ResetFailure("The shop did not take the new password.")


def _sign_in(web: str, username: str, password: str) -> None:
    visitor = Browser()
    page = visitor.submit(visitor.get(web + LOGIN_PATH), username=username, password=password)
    if page.has_field("password"):
        raise ResetFailure("The new password does not work: the shop shows its sign-in page again.")
