"""System checks: what a project must be set to for the guarantees to hold.

None asks a database, and none shows an option's value or a secret. ``manage.py check --tag
resetdelivery`` runs these alone.

=====  =================================================================================
E001   ``RESETDELIVERY`` is wrong: one message for each problem
E002   the database of our tables is neither PostgreSQL nor SQLite
E003   the SQLite library is older than 3.35
E004   SQLite begins transactions in another way than IMMEDIATE
E005   SQLite does not write ahead (WAL)
E006   ``USE_TZ`` is off
E007   ``RESET_BASE_URL`` cannot begin a link
E008   the reset page has no URL pattern, or is Django's own, which refuses our links
E009   the account directory cannot be made
E010   a channel's transport cannot be made
E011   another package is called ``notifications``
E012   there are no templates of ``TEMPLATE_VERSION``
E013   ``LIFETIME`` is of no use on a channel, or longer than ``MAX_LIFETIME``
E014   not even one attempt fits into the shortest lifetime after a worker died
E020   a DKIM key is missing, cannot be read, or is none
E021   the domain that signs is not that of From
E022   a DKIM key is of another algorithm than it says, or of an unknown one
E023   an RSA key for DKIM is shorter than 2048 bits
E024   the option ``dkim`` has an unknown form, or its packages are missing
E030   there are no templates in the language of ``LOCALE``
E031   ``MAX_SEGMENTS`` is less than an SMS in ``LOCALE`` takes
E032   ``REGIONS`` names a region that has no phone numbers
E040   credentials of a provider are missing
E041   a provider's region is none
E042   an anymail backend cannot be used, or a provider's packages are missing
E043   the sender of a provider has a wrong form
E044   receipts cannot come to a provider's ``status_callback``
E045   another option of a provider is out of range
E046   ``MIN_USEFUL`` is less than a provider takes
E050   the secret of a provider's receipts is missing
E051   ``RECEIPTS_BASE_URL`` cannot begin a callback's address, or is no page
E052   ``RECEIPTS`` names an unknown provider or option, or its packages are missing
E053   a topic that receipts come from has no ARN, or one of a wrong form
E054   the window against replayed receipts is missing or of no use
E055   a channel's list of providers is empty
E056   two providers of a channel have one name
E057   an entry of a list of providers is wrong
E058   a provider of a list cannot be made
E060   there is no key of its own for links (only with ``--deploy``, as are the next to E066)
E061   a key for links is shorter than 32 octets
E062   a key serves for two things
E063   a key for pseudonyms is shorter than 32 octets
E064   Celery's workers unpack more than JSON
E065   Celery would take anybody for its broker
E066   email goes to another machine without TLS
E080   ``ADMISSION_LOCK_TIMEOUT`` is nothing, which would mean for ever
E083   PostgreSQL is asked for another isolation level than READ COMMITTED
E084   ``LIMITS_REDIS_URL`` is no address of a Redis
E085   ``LIMITS_REDIS_URL`` takes the verification of TLS away
E086   ``TRUSTED_PROXIES`` has an entry that is no network
E087   ``LIMITS_TIMEOUT`` is nothing, or longer than a page should wait
E088   ``LIMITS_PAUSE`` is nothing
E090   a hook of ``AFTER_RESET`` cannot be called
E091   ``NOTICE_LIFETIME`` is of no use on a channel
E092   there are no templates of ``NOTICE_TEMPLATE_VERSION``
E100   ``SCRAPE_TIMEOUT`` is nothing, which would mean for ever
E110   ``KEEP_ATTEMPTS`` is longer than ``KEEP_INTENTS``
E111   something is kept longer than the row that it is part of, or leads to
E112   ``KEEP_DECOYS`` is shorter than ``KEEP_IDEMPOTENCY_KEYS``: a replay would tell who has an account
E113   ``PURGE_BATCH`` is so large that others would wait for it
E114   ``KEEP_MINUTES`` is hardly any history
E115   ``TRACE_EXPORTER`` is set, and the packages of OpenTelemetry are missing
E116   ``TRACE_EXPORTER`` makes no exporter of spans
E117   ``TRACE_SUCCESSES_PER_MILLE`` is more than 1000
E118   ``LEGACY_TOKEN_GENERATOR`` cannot check the existing sender's links
E119   a setting of a rollout leaves nothing that it could be judged by
E121   ``LIFETIME`` is shorter than ``MIN_LIFETIME``
W001   the accounts are read from another database than our tables
W002   ``LEASE`` is shorter than one send, and is raised
W003   ``DISPATCH`` is ``inline`` in production
W004   ``RECOVERY`` is ``off``
W005   a channel's ``MAX_LIFETIME`` is longer than policy allows
W030   a template is wrong, or too long with this project's own values
W059   an outage of all providers may use up ``MAX_ATTEMPTS``
W060   there is no key of its own for pseudonyms (only with ``--deploy``, as are the next to W071)
W061   Celery packs tasks or results in another way than as JSON
W062   the broker is another machine, and the connection to it is not encrypted
W063   Celery's workers take remote control
W064   text messages go to every country
W065   the admin is mounted, and no check can see who reaches it
W066   the email transport takes its server from ``EMAIL_HOST``, which nothing else uses
W067   the internal API is mounted beside the public pages
W068   the database is another machine, which is not verified
W069   nothing says who may open Flower
W070   sessions, and with them the token of a link, are kept in cookies
W071   the Redis for limits is another machine, and the connection to it is not encrypted
W080   a limit per day is lower than the one per hour
W081   a limit per hour lets a mailbox be flooded (only with ``--deploy``)
W084   no limits in Redis for callers and SMS (only with ``--deploy``, as are the next two)
W085   SMS has no budget
W086   there is a proxy, and ``TRUSTED_PROXIES`` names none
W090   the reset page signs in whoever used a link
W091   error reports show links
W100   ``SCRAPE_TIMEOUT`` is longer than Prometheus waits
W101   more template versions should have a label than can
W102   more providers should have a label than can
W105   there are more series than ``MAX_SERIES`` (only with ``--deploy``, as are the next to W109)
W106   a line of the log may be longer than ``MAX_LINE_BYTES``
W107   the log would hold more than ``MAX_LOG_BYTES``
W108   the traces would hold more than ``MAX_SPAN_BYTES``
W109   our tables would hold more than ``MAX_TRAIL_BYTES``
W110   ``KEEP_IDEMPOTENCY_KEYS`` is shorter than ``MAX_LIFETIME``
W111   ``KEEP_PROVIDER_REFERENCES`` is longer than ``KEEP_ACCOUNT_REFS``
W112   rows' time is over before they can be counted
W113   ``KEEP_SHADOWS`` is longer than ``KEEP_ACCOUNT_REFS``, and changes nothing
W115   ``TRACE_EXPORTER`` is set, and ``OTEL_SDK_DISABLED`` switches it off
W116   the collector of traces is another machine, not encrypted (only with ``--deploy``)
W117   ``FIRST_SLICE`` is everybody
W118   ``ROLLOUT_WINDOW`` is longer than ``KEEP_MINUTES``
W119   ``ROLLOUT_VERIFIED_FOR`` is longer than ``KEEP_AUDIT_ENTRIES``
W120   the newest of ``PSEUDONYM_KEYS`` has an id that sorts first: slices of a rollout change
W121   not all of ``MAX_ATTEMPTS`` fit into the shortest lifetime after a worker died
W122   a lost hint is told again too late for the shortest lifetime
=====  =================================================================================
"""

from __future__ import annotations

from resetdelivery.checks import (
    after_reset,
    boundary,
    broker,
    budget,
    database,
    deployment,
    dkim,
    durations,
    keys,
    limits,
    link,
    numbers,
    parts,
    providers,
    receipts,
    retention,
    rollout,
    shape,
    telemetry,
    templates,
    throttles,
    traces,
    transports,
    wires,
)

__all__ = [
    "after_reset",
    "boundary",
    "broker",
    "budget",
    "database",
    "deployment",
    "dkim",
    "durations",
    "keys",
    "limits",
    "link",
    "numbers",
    "parts",
    "providers",
    "receipts",
    "retention",
    "rollout",
    "shape",
    "telemetry",
    "templates",
    "throttles",
    "traces",
    "transports",
    "wires",
]
