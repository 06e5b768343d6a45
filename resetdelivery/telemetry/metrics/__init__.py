"""The page that Prometheus scrapes, read from the database each time.

``counters`` are lifetime totals and open minutes, ``scrape`` everything that is read, ``collector``
what becomes of it in Prometheus's own words. Only the last needs the extra ``metrics``.
"""
