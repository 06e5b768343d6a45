"""The whole system on one machine: `python -m examples.demo` (see the README's first command)."""
