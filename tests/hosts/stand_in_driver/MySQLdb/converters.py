from __future__ import annotations

conversions: dict[int, object] = {}
