"""What Prometheus scrapes: the one answer that is no JSON."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from resetdelivery.api.document import operation
from resetdelivery.api.problems import ApiProblem, ProblemType
from resetdelivery.domain.api_key import Scope

router = Router(tags=["health"])

#: Prometheus's text exposition format.
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="All metrics, for Prometheus",
    **operation(Scope.HEALTH_READ, text=MEDIA_TYPE, problems=[ProblemType.NOT_INSTALLED]),
)
def read_metrics(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Described in docs/metrics.md. Read anew for each request, so more than one scraper may ask."""
    try:
        # Here, because Prometheus's library comes with the extra "metrics" only.
        from resetdelivery.telemetry.metrics.collector import page
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "prometheus_client":
            raise
        raise ApiProblem(
            ProblemType.NOT_INSTALLED, "Install the extra 'metrics': pip install 'resetdelivery[metrics]'."
        ) from None
    return HttpResponse(page(), content_type=MEDIA_TYPE)
