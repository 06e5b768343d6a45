"""Which template versions and locales there are, in a project's folders and in its apps'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from django.template import engines

from notifications.locales import FOLDER_NAME
from notifications.message import MessageKind
from notifications.skeletons import folder


def versions(kind: MessageKind) -> list[str]:
    """Every version of which there is a folder, retired ones included."""
    return sorted({found.name for root in _roots(kind) for found in _folders(root)})


def locales(kind: MessageKind, version: str) -> list[str]:
    """Every locale of ``version`` that any template folder holds files of."""
    return sorted({found.name for root in _roots(kind) for found in _folders(root / version)})


def _roots(kind: MessageKind) -> Iterator[Path]:
    """Where the loaders of every engine look; loaders without folders are not listed."""
    for engine in engines.all():
        folders = [*engine.template_dirs]
        for loader in getattr(getattr(engine, "engine", None), "template_loaders", []):
            for inner in getattr(loader, "loaders", [loader]):
                folders += inner.get_dirs() if hasattr(inner, "get_dirs") else []
        yield from (Path(below, folder(kind)) for below in dict.fromkeys(map(str, folders)))


def _folders(root: Path) -> Iterator[Path]:
    if root.is_dir():
        yield from (found for found in root.iterdir() if found.is_dir() and FOLDER_NAME.match(found.name))
