"""What happened to one intent, in order and in plain words, and the answer to "why was this not sent?".

Nothing personal is in it.
"""

from __future__ import annotations

from resetdelivery.timeline.answers import Answer
from resetdelivery.timeline.events import Event
from resetdelivery.timeline.story import Timeline, timeline_of

__all__ = ["Answer", "Event", "Timeline", "timeline_of"]
