"""``manage.py openapi``: the document of the internal API."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Prints the OpenAPI document: ``manage.py openapi > docs/openapi.json``."""

    help = "Print the OpenAPI 3.1 document of the internal API."
    requires_system_checks = []

    def handle(self, *_: Any, **__: Any) -> None:
        # Here, because django-ninja comes with the extra "api" only.
        from resetdelivery.api.document import openapi_document
        from resetdelivery.api.routes import api

        self.stdout.write(json.dumps(openapi_document(api), indent=2, ensure_ascii=False))
