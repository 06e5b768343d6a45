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
E014   polling is too slow for the shortest lifetime
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
W001   the accounts are read from another database than our tables
W002   ``LEASE`` is shorter than one send, and is raised
W003   ``DISPATCH`` is ``inline`` in production
W004   ``RECOVERY`` is ``off``
W005   a channel's ``MAX_LIFETIME`` is longer than policy allows
W030   a template is wrong, or too long with this project's own values
W059   an outage of all providers may use up ``MAX_ATTEMPTS``
=====  =================================================================================
"""

from __future__ import annotations

from resetdelivery.checks import (
    boundary,
    database,
    dkim,
    durations,
    link,
    numbers,
    parts,
    providers,
    receipts,
    shape,
    templates,
    transports,
)

__all__ = [
    "boundary",
    "database",
    "dkim",
    "durations",
    "link",
    "numbers",
    "parts",
    "providers",
    "receipts",
    "shape",
    "templates",
    "transports",
]
