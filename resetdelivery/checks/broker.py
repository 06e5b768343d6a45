"""The host's Celery app: what it unpacks, and whom it takes for its broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.broker import Security, security
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Dispatch

JSON = "application/json"


@register(TAG, deploy=True)
def check_celery(**_: Any) -> list[CheckMessage]:
    """E064, E065 and W061 to W063, where hints go over a broker."""
    settings = settings_if_valid()
    if settings is None or settings.dispatch is not Dispatch.BROKER:
        return []
    try:
        found = security()
    except Exception as cause:
        # Of a broker's address that cannot be read: its text may quote the password.
        text = f"Celery's broker settings cannot be read: {type(cause).__name__}."
        return [error(65, text, "Write broker_url as rediss://user:password@host:6379/0.")]
    return [*_content_problems(found), *_connection_problems(found)]


def _content_problems(found: Security) -> Iterator[CheckMessage]:
    if others := sorted(found.accepts - {JSON}):
        text = f"Celery's accept_content lets {', '.join(map(repr, others))} in besides JSON."
        hint = (
            "Set accept_content = ['json']: of a pickled message, whoever can write to the broker "
            "runs what he likes in every worker."
        )
        yield error(64, text, hint)
    if others := sorted(found.serializers - {"json", JSON}):
        text = f"Celery's task_serializer or result_serializer is {', '.join(map(repr, others))}."
        yield warning(61, text, "Set both to 'json'.")
    if found.remote_control:
        text = "Celery's workers take remote control: whoever can write to the broker can stop them."
        hint = "Set worker_enable_remote_control = False, or silence this where every writer is trusted."
        yield warning(63, text, hint)


def _connection_problems(found: Security) -> Iterator[CheckMessage]:
    if found.unverified:
        text = "Celery's connection to the broker is encrypted, and takes anybody for the broker."
        hint = (
            "Set broker_use_ssl = {'ssl_cert_reqs': ssl.CERT_REQUIRED, 'ssl_check_hostname': True, "
            "'ssl_ca_certs': file}: of itself rediss:// verifies nothing in Celery."
        )
        yield error(65, text, hint)
    if found.exposed:
        text = "Celery's connection to a broker on another machine is not encrypted."
        yield warning(62, text, "Use rediss:// with broker_use_ssl, or a broker on this machine.")
