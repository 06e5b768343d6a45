"""This package's loggers: structured, and always on their way through the standard library's."""

from __future__ import annotations

import logging
from typing import cast

import structlog
from structlog.typing import FilteringBoundLogger


def get_logger(name: str) -> FilteringBoundLogger:
    """A structlog logger that ends in ``logging``, also where a project never set structlog up.

    By itself structlog prints to standard output, which is the answer of many a command.
    """
    return cast("FilteringBoundLogger", structlog.wrap_logger(logging.getLogger(name)))
