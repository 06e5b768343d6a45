"""The other suites' fixtures that the proofs here stand on."""

from __future__ import annotations

from tests.acceptance.conftest import configure, make_accounts, provider, redis_broker, stage
from tests.integration.conftest import change, limits, live, redis_server, use_broker
from tests.integration.test_leaks import buyer, logged, secrets

__all__ = [
    "buyer",
    "change",
    "configure",
    "limits",
    "live",
    "logged",
    "make_accounts",
    "provider",
    "redis_broker",
    "redis_server",
    "secrets",
    "stage",
    "use_broker",
]
