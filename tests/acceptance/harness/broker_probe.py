"""Asks the broker that this project's settings name how long a queue is, and says whether it answered."""

from __future__ import annotations

import sys

import django

if __name__ == "__main__":
    django.setup()
    from resetdelivery import broker

    try:
        broker.queue_length("email")
    except broker.BrokerUnavailable:
        sys.stdout.write("unavailable")
    else:
        sys.stdout.write("answered")
