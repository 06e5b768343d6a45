"""``manage.py check --deploy`` of this repository's own project, as whoever deploys it runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK_KEY = 32 * "k"
PSEUDONYM_KEY = 32 * "o"

PRODUCTION = {
    "DEBUG": "0",
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_",
    "ALLOWED_HOSTS": "shop.example",
    "DATABASE_URL": "postgres://web:secret@db.internal:5432/shop?sslmode=verify-full",
    "REDIS_URL": "rediss://web:secret@redis.internal:6379/0",
    "RESET_BASE_URL": "https://shop.example",
    "RESET_LINK_KEY": f"{LINK_KEY},{32 * 'n'}",
    "PSEUDONYM_KEY": f"2:{32 * 'p'},1:{PSEUDONYM_KEY}",
    "EMAIL_HOST": "smtp.example",
    "EMAIL_TLS": "starttls",
    "TWILIO_AUTH_TOKEN": "a token",
    "SMS_REGIONS": "DE,AT",
    "FLOWER_BASIC_AUTH": "oncall:secret",
    "ADMIN_PRIVATE": "1",
    # The throttles: a Redis database of their own, and what text messages may cost.
    "LIMITS_REDIS_URL": "rediss://limits:secret@redis.internal:6379/1",
    "SMS_SEGMENTS_PER_HOUR": "500",
    "SMS_SEGMENTS_PER_DAY": "2000",
    "TRUSTED_PROXIES": "10.0.0.0/8",
}


def deployed(**changes: str) -> subprocess.CompletedProcess[str]:
    """``manage.py check --deploy`` of this repository's own project, in an environment like production's."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-W", "error", "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        env={**kept, **PRODUCTION, **changes},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_this_project_can_be_deployed_without_a_warning() -> None:
    done = deployed()
    assert (done.returncode, done.stderr) == (0, "")


def test_this_project_without_its_keys_is_not_deployed() -> None:
    done = deployed(RESET_LINK_KEY="", ADMIN_PRIVATE="0")
    assert done.returncode == 1
    assert "resetdelivery.E060" in done.stderr
    assert "resetdelivery.W065" in done.stderr


def test_this_project_behind_a_proxy_that_it_does_not_know_is_not_deployed() -> None:
    done = deployed(TRUSTED_PROXIES="", LIMITS_REDIS_URL="redis://limits:secret@redis.internal:6379/1")
    assert done.returncode == 1
    assert "resetdelivery.W071" in done.stderr
    assert "resetdelivery.W086" in done.stderr


def test_two_pseudonym_keys_with_one_id_are_refused_without_being_shown() -> None:
    done = deployed(PSEUDONYM_KEY=f"{LINK_KEY},{PSEUDONYM_KEY}")
    assert done.returncode == 1
    assert "Two keys of PSEUDONYM_KEY have one id" in done.stderr
    assert LINK_KEY not in done.stderr
