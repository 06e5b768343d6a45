"""Template files, rendered with marks in place of the link and the lifetime.

Rendering Django templates for each message costs more than everything else about it, so each
file is rendered once per brand, and link and lifetime are put in afterwards. That is safe
because the link must match :data:`notifications.rendering.LINK` and the lifetime is our own
words: neither can hold a line break, a quote or an angle bracket.

A template is given ``brand`` (``name`` and ``support``), ``link``, ``lifetime``, ``lang`` and
``dir``; it may place link and lifetime, and not look into them. A security notice is given the
marks too, so that one which uses them is found out; it must not.
"""

from __future__ import annotations

from django.template.loader import get_template

from notifications.brand import Brand
from notifications.locales import direction
from notifications.message import MessageKind

EMAIL_FILES = ("subject.txt", "body.txt", "body.html")
SMS_FILES = ("sms.txt",)

_LINK_MARK = "reset-link-goes-here"
_LIFETIME_MARK = "lifetime-goes-here"


def folder(kind: MessageKind) -> str:
    """Where the versions of a kind of message are, below each of Django's template folders."""
    return f"notifications/{kind.value}"


def template_name(kind: MessageKind, version: str, locale: str, file: str) -> str:
    """The name under which Django's template loaders find ``file``; a project's own come first."""
    return f"{folder(kind)}/{version}/{locale}/{file}"


def skeleton(name: str, locale: str, brand: Brand) -> str:
    """The template ``name``, rendered with marks; Django's ``TemplateDoesNotExist`` if there is none."""
    context = {
        "link": _LINK_MARK,
        "lifetime": _LIFETIME_MARK,
        "brand": brand,
        "lang": locale,
        "dir": direction(locale),
    }
    return _clean(get_template(name).render(context))


def fill(text: str, *, link: str, lifetime: str) -> str:
    """A skeleton with the link and the lifetime in their places."""
    return text.replace(_LIFETIME_MARK, lifetime).replace(_LINK_MARK, link)


def has_its_places(kind: MessageKind, *skeletons: str) -> bool:
    """Whether each of them has a place for the link and one for the lifetime; in a notice, neither."""
    if kind is MessageKind.RESET:
        return all(_LINK_MARK in text and _LIFETIME_MARK in text for text in skeletons)
    return not any(_LINK_MARK in text or _LIFETIME_MARK in text for text in skeletons)


def _clean(rendered: str) -> str:
    # A lone CR breaks DKIM's line canonicalisation, and a template edited on Windows has them.
    return rendered.replace("\r\n", "\n").replace("\r", "\n").strip()
