"""Settings of the project that this repository runs: the demo shop, its workers, its admin."""

from __future__ import annotations

import datetime as dt
import ssl
from typing import Any

import django
from kombu import Exchange, Queue

from config.env import BASE_DIR, env, keys_by_id, with_ca
from config.logging import logging_config
from resetdelivery.schedule import BEAT_SCHEDULE

DEBUG = env.bool("DEBUG", default=True)
SECRET_KEY = env.str("SECRET_KEY", default="development-only-secret-key-of-this-checkout" if DEBUG else "")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1"])

# Over TLS only, where it is not development. gunicorn believes the proxies of FORWARDED_ALLOW_IPS, and
# without it those on this machine, that a request came over https: behind any other, each page would
# lead to itself. For other servers see SECURE_PROXY_SSL_HEADER.
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=not DEBUG)
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=0 if DEBUG else 30 * 24 * 3600)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEBUG
SILENCED_SYSTEM_CHECKS = [
    # HSTS for sub-domains and browsers' preload lists are a promise for hosts that are not this project's.
    *("security.W005", "security.W021"),
    # Whoever deploys says that the proxy, or a network, keeps strangers from /admin/.
    *(["resetdelivery.W065"] if env.bool("ADMIN_PRIVATE", default=False) else []),
]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "resetdelivery",
    "notifications",
    "examples.marketplace",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Django's own from 6.0 on; both read SECURE_CSP, and leave a page's own policy alone.
    "django.middleware.csp.ContentSecurityPolicyMiddleware"
    if django.VERSION >= (6, 0)
    else "resetdelivery.csp.ContentSecurityPolicyMiddleware",
]
# The admin brings the scripts, and pictures inside its style sheets; no page here loads from elsewhere.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = env.path("STATIC_ROOT", default=str(BASE_DIR / "build" / "static"))()
AUTH_USER_MODEL = "marketplace.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]


def sqlite_options() -> dict[str, Any]:
    """WAL and IMMEDIATE: without both, concurrent writers fail instead of waiting."""
    return {
        "transaction_mode": "IMMEDIATE",
        "timeout": 10,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }


def postgres_options() -> dict[str, Any]:
    """A pool, because Celery closes a plain connection after every task; and bounded waits."""
    return {
        "pool": {"min_size": 1, "max_size": env.int("DATABASE_POOL_SIZE", default=12), "timeout": 10},
        "options": "-c statement_timeout=10s -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s",
    }


def database() -> dict[str, Any]:
    """The database of DATABASE_URL, with the options that this package needs."""
    config: dict[str, Any] = env.db("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'db.sqlite3'}")
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = {**config.get("OPTIONS", {}), **sqlite_options()}
    elif config["ENGINE"] == "django.db.backends.postgresql":
        config["OPTIONS"] = {**config.get("OPTIONS", {}), **postgres_options()}
    return config


DATABASES = {"default": database()}

RESETDELIVERY: dict[str, Any] = {
    "RESET_BASE_URL": env.str("RESET_BASE_URL", default="http://127.0.0.1:8000"),
    "BRAND": "Marketplace",
    "SUPPORT": "support@shop.example",
    "DIRECTORY_OPTIONS": {"phone_field": "phone"},
    "DISPATCH": env.str("DISPATCH", default="broker"),
    "RECOVERY": env.str("RECOVERY", default="on"),
    "LOCALE": env.str("LOCALE", default="en"),
    "LIFETIME": dt.timedelta(minutes=10),
    "AFTER_RESET": ["examples.marketplace.access_tokens.revoke"],
    "ACCOUNT_PER_HOUR": env.int("ACCOUNT_PER_HOUR", default=3),
    "ACCOUNT_PER_DAY": env.int("ACCOUNT_PER_DAY", default=8),
    "DESTINATION_PER_HOUR": env.int("DESTINATION_PER_HOUR", default=3),
    "DESTINATION_PER_DAY": env.int("DESTINATION_PER_DAY", default=8),
    "CHANNELS": {
        "email": {
            "OPTIONS": {
                "host": env.str("EMAIL_HOST", default="localhost"),
                "port": env.int("EMAIL_PORT", default=25),
                "username": env.str("EMAIL_HOST_USER", default=""),
                "password": env.str("EMAIL_HOST_PASSWORD", default=""),
                "tls": env.str("EMAIL_TLS", default="none"),
                "from_address": env.str("EMAIL_FROM", default="no-reply@shop.example"),
            },
        },
        "sms": {
            "REGIONS": env.list("SMS_REGIONS", default=[]),
            "OPTIONS": {
                "base_url": env.str("TWILIO_BASE_URL", default="https://api.twilio.com"),
                "account_sid": env.str("TWILIO_ACCOUNT_SID", default="AC00000000000000000000000000000000"),
                "auth_token": env.str("TWILIO_AUTH_TOKEN", default="unset"),
                "from_number": env.str("TWILIO_FROM", default="+15005550006"),
            },
        },
    },
}
DKIM_KEYS = [
    {"selector": selector, "algorithm": algorithm, "key_file": env.str(f"DKIM_{algorithm.upper()}_KEY_FILE")}
    for algorithm in ("rsa", "ed25519")
    if (selector := env.str(f"DKIM_{algorithm.upper()}_SELECTOR", default=""))
]
if DKIM_KEYS:
    RESETDELIVERY["CHANNELS"]["email"]["OPTIONS"]["dkim"] = {
        "domain": env.str("DKIM_DOMAIN"),
        "keys": DKIM_KEYS,
    }
if receipts_base_url := env.str("RECEIPTS_BASE_URL", default=""):
    RESETDELIVERY["RECEIPTS_BASE_URL"] = receipts_base_url
    RESETDELIVERY["RECEIPTS"] = {"twilio": {"auth_token": env.str("TWILIO_AUTH_TOKEN", default="")}}
    RESETDELIVERY["CHANNELS"]["sms"]["GIVES_RECEIPTS"] = True
# Such as opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter, which OTEL_* sets up.
RESETDELIVERY["TRACE_EXPORTER"] = env.str("TRACE_EXPORTER", default="")
if link_keys := env.list("RESET_LINK_KEY", default=[]):
    RESETDELIVERY["LINK_KEYS"] = link_keys
if pseudonym_keys := env.list("PSEUDONYM_KEY", default=[]):
    RESETDELIVERY["PSEUDONYM_KEYS"] = keys_by_id(pseudonym_keys)
# Of a private CA that signs the certificates of Redis; the system's trust store otherwise.
REDIS_CA_FILE = env.str("REDIS_CA_FILE", default="")
if limits_redis_url := env.str("LIMITS_REDIS_URL", default=""):
    RESETDELIVERY["LIMITS_REDIS_URL"] = with_ca(limits_redis_url, REDIS_CA_FILE)
    RESETDELIVERY["TRUSTED_PROXIES"] = env.list("TRUSTED_PROXIES", default=[])
    for name in ("SMS_SEGMENTS_PER_HOUR", "SMS_SEGMENTS_PER_DAY"):
        RESETDELIVERY[name] = env.int(name, default=None)

CELERY_BROKER_URL = env.str("REDIS_URL", default="redis://127.0.0.1:6379/0")
if CELERY_BROKER_URL.startswith("rediss://"):
    # kombu's own default for rediss:// is to verify nothing.
    CELERY_BROKER_USE_SSL = {
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
        "ssl_check_hostname": True,
        "ssl_ca_certs": REDIS_CA_FILE or None,
    }
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 1,
    "socket_connect_timeout": 1,
    "socket_keepalive": True,
    "retry_on_timeout": False,
    "health_check_interval": 10,
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
    "visibility_timeout": 120,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "global_keyprefix": "resetdelivery:",
}
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in ("email", "sms", "control")]
CELERY_TASK_DEFAULT_QUEUE = "control"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ETA_TASK_LIMIT = 100
CELERY_WORKER_SEND_TASK_EVENTS = True
# Whoever can write to the broker could stop workers with it. The demo asks its workers whether they are up.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = env.bool("WORKER_REMOTE_CONTROL", default=DEBUG)
# Flower reads it from its own environment; here the checks see that there is one.
FLOWER_BASIC_AUTH = env.list("FLOWER_BASIC_AUTH", default=[])
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_SCHEDULE = BEAT_SCHEDULE
CELERY_BEAT_MAX_LOOP_INTERVAL = 1

LOGGING_CONFIG = None
DEFAULT_EXCEPTION_REPORTER = "resetdelivery.error_reports.LinkFreeReporter"
logging_config(form=env.str("LOG_FORMAT", default="console" if DEBUG else "json"), debug=DEBUG)
