from __future__ import annotations

from types import SimpleNamespace

CLIENT = SimpleNamespace(FOUND_ROWS=2)

# In Django only the names matter before it connects.
_TYPES = (
    "BLOB CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT24 JSON LONG LONGLONG LONG_BLOB MEDIUM_BLOB "
    "NEWDECIMAL SHORT STRING TIME TIMESTAMP TINY TINY_BLOB VAR_STRING YEAR"
)
FIELD_TYPE = SimpleNamespace(**{name: code for code, name in enumerate(_TYPES.split())})
