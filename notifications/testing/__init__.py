"""Fakes that this package's own tests use, for a host project's tests as well."""

from __future__ import annotations

from notifications.testing.scripted import ScriptedTransport

__all__ = ["ScriptedTransport"]
