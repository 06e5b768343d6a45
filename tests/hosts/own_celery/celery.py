from __future__ import annotations

import os

from celery import Celery

app = Celery("host", broker=os.environ.get("HOST_BROKER"))
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_always_eager=True,
    task_ignore_result=False,
    task_track_started=True,
    task_default_queue="host",
    task_serializer="pickle",
    result_serializer="pickle",
    accept_content=["pickle", "json"],
)
app.autodiscover_tasks()
