"""One pipeline for every log line: ours, Django's, Celery's. JSON in production."""

from __future__ import annotations

import logging.config

import structlog
from structlog.typing import Processor

from resetdelivery.log_scrubbing import without_links

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    # As text, at once: a renderer's own traceback may show local variables.
    structlog.processors.format_exc_info,
]


def logging_config(*, form: str, debug: bool) -> None:
    """Send all logs to standard error, as ``json`` lines or for the ``console``."""
    renderer: Processor = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": _SHARED,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        without_links,
                        renderer,
                    ],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": "INFO"},
            "loggers": {
                "django.server": {"level": "INFO" if debug else "WARNING"},
                # A line for every tick of the control worker says nothing; attempts have their own.
                "celery.app.trace": {"level": "WARNING"},
                "celery.worker.strategy": {"level": "WARNING"},
            },
        }
    )
