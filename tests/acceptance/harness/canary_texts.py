"""The marked texts of the canary test, and the settings that they are in; for settings, so without Django."""

from __future__ import annotations

import datetime as dt

BRAND = "Canarybrand4e1d"
SUPPORT = "canarysupport5f2c@example.com"
#: In every address of an account, and in every name.
BOX = "canarybox7f3a9c"
NAME = "canaryname5d20b8"
#: Of an account's reference, before its number.
REF = 731_002_993_552_118
TYPED = "canarytyped88e1f4@example.org"
KEY = "canarykey2c9d71a0"
BAD_KEY = "rd_canarybadkey01_3b7fcanarybadsecret"
PROVIDER_TEXT = "canaryprovidertext91b2"
PROVIDER_SECRET = "canaryprovidersecret0f83"
BODY = "canarybody6a7b52"
HINT = "canaryhint3c4d19"
PASSWORD = "canarypassword77aa03"

SETTINGS = {
    "BRAND": BRAND,
    "SUPPORT": SUPPORT,
    "TRACE_EXPORTER": "tests.acceptance.harness.canary_faults.SpanFile",
    "TRACE_SUCCESSES_PER_MILLE": 1000,
    # A channel that paused itself is to go on while the test runs.
    "PROBE_AFTER": dt.timedelta(seconds=1),
}
