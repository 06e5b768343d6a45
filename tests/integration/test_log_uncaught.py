"""What reaches standard error without a logger: warnings, and exceptions that nobody caught."""

from __future__ import annotations

import json
import subprocess
import sys

ADDRESS = "marked.buyer.1618@shop.example"
UNCAUGHT = f"""
import threading, warnings
from config.logging import logging_config
logging_config(form="json", debug=False)
warnings.warn("{ADDRESS}", UserWarning)
def refuse():
    raise LookupError("{ADDRESS}")
thread = threading.Thread(target=refuse)
thread.start()
thread.join()
class Account:
    def __repr__(self):
        return "{ADDRESS}"
    def __del__(self):
        refuse()
Account()
refuse()
"""


def test_in_production_warnings_and_what_nobody_caught_are_lines_too() -> None:
    ended = subprocess.run([sys.executable, "-c", UNCAUGHT], capture_output=True, text=True, timeout=60)
    said = [
        (line["level"], line["event"].partition(" at ")[0])
        for line in map(json.loads, ended.stderr.splitlines())
    ]
    assert said == [
        ("warning", "UserWarning"),
        ("critical", "Nobody in a thread caught this."),
        ("critical", "Nobody could catch this (LookupError)."),
        ("critical", "Nobody caught this."),
    ]
    assert ended.stderr.count('"exception":"LookupError at <string>:') == 3
    assert ADDRESS not in ended.stderr
    assert ended.returncode == 1
