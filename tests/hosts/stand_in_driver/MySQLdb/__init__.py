"""As much of a MySQL driver as Django's backend imports: the real one needs a C library of MySQL's."""  # noqa: N999

from __future__ import annotations

version_info = (2, 2, 7, "final", 0)
