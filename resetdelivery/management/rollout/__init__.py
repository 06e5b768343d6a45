"""The steps of ``manage.py rollout``, a module each.

A step module has ``add(steps)``, which adds its sub-parsers, and ``STEPS``: by the name of each
sub-parser what it does. That takes the options and says lines; it returns whether all is well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Says one line.
Say = Callable[[str], object]
#: What a step does, with its options and a way to speak; whether all is well.
Step = Callable[[dict[str, Any], Say], bool]
