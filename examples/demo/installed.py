"""Where a program that may be installed lies."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path


def package_folder(name: str) -> Path | None:
    """The folder of an installed package, without importing it; None when it is not installed."""
    spec = importlib.util.find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def first_on_path(*names: str) -> Path | None:
    """The first of these programs that PATH holds."""
    return next((Path(found) for name in names if (found := shutil.which(name))), None)
