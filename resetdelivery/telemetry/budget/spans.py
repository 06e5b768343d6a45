"""What traces cost: spans as they are sent, and how many traces are kept."""

from __future__ import annotations

from dataclasses import dataclass

from resetdelivery.conf import Settings
from resetdelivery.domain.budget import Volume, days
from resetdelivery.telemetry.traces import encoded_sample

#: Of all resets: so many are retried, late, refused or otherwise kept always. Assumed, and on the high side.
ALWAYS_KEPT_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCost:
    """One trace of a reset: octets of a usual and of the worst one as OTLP has them.

    ``gzip_bytes`` is a usual one's share of a compressed export. ``sampled_share`` of the usual ones are
    kept, and all of the others, which are taken to lie halfway between a usual and the worst one.
    """

    is_exported: bool
    spans: int
    worst_spans: int
    usual_bytes: float
    worst_bytes: float
    gzip_bytes: float
    sampled_share: float
    resets_per_day: int
    days: float

    @property
    def kept_bytes(self) -> float:
        """Octets that the traces' store holds, or would hold if they were exported."""
        return self._kept(self.sampled_share)

    @property
    def saved_by_sampling_usual(self) -> float:
        """Octets that are not held as only a share of the usual ones is kept."""
        return self._kept(1.0) - self.kept_bytes

    def _kept(self, sampled_share: float) -> float:
        usual = self._volume((1 - ALWAYS_KEPT_SHARE) * sampled_share)
        others = self._volume(ALWAYS_KEPT_SHARE)
        halfway = (self.usual_bytes + self.worst_bytes) / 2
        return usual.kept_bytes(self.usual_bytes) + others.kept_bytes(halfway)

    def _volume(self, share: float) -> Volume:
        return Volume(per_day=self.resets_per_day * share, days=self.days)


def trace_cost(settings: Settings) -> TraceCost | None:
    """The cost of resets' traces; ``None`` without the packages of the extra ``tracing``."""
    sample = encoded_sample()
    if sample is None:
        return None
    return TraceCost(
        is_exported=bool(settings.trace_exporter),
        spans=sample.spans,
        worst_spans=sample.worst_spans,
        usual_bytes=sample.batch_bytes,
        worst_bytes=sample.worst_bytes,
        gzip_bytes=sample.batch_gzip_bytes,
        sampled_share=settings.trace_successes_per_mille / 1000,
        resets_per_day=settings.resets_per_day,
        days=days(settings.span_retention),
    )
