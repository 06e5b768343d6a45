"""Requests signed for AWS with Signature Version 4, by botocore; nothing else of it is used.

botocore's own clients are not: they retry a submission whose answer they did not see, up to four
times, and ``SendTextMessage`` has no key by which AWS would notice. botocore logs what it signs at
level DEBUG: hashes and headers (a session's token among them), not the message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from notifications.deadline import Deadline
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.sockets import within

SERVICE = "sms-voice"

#: Gives credentials that are valid now, by the deadline if new ones have to be asked for.
Credentials = Callable[[Deadline], Any]


def credentials(access_key_id: str, secret_access_key: str, session_token: str) -> Credentials:
    """These credentials, or those of AWS's usual chain (environment, profile, role) where both are empty.

    Raises :class:`OptionMisconfigured` without botocore, and where there are none.
    """
    try:
        from botocore.credentials import ReadOnlyCredentials
        from botocore.session import get_session
    except ImportError:
        raise OptionMisconfigured(
            OptionProblem.PACKAGE,
            "The transport AwsSmsTransport needs the package botocore.",
            "Install resetdelivery[aws].",
        ) from None
    if bool(access_key_id) != bool(secret_access_key):
        raise OptionMisconfigured(
            OptionProblem.CREDENTIALS,
            "Of the AWS options 'access_key_id' and 'secret_access_key' one is empty.",
            "Set both, or neither for the credentials of the environment, the profile or the role.",
        )
    if access_key_id:
        fixed = ReadOnlyCredentials(access_key_id, secret_access_key, session_token or None)
        return lambda _: fixed
    found = get_session().get_credentials()
    if found is None:
        raise OptionMisconfigured(
            OptionProblem.CREDENTIALS,
            "AWS credentials are found in no place.",
            "Set 'access_key_id' and 'secret_access_key', or give the process a role.",
        )
    return lambda deadline: within(deadline, found.get_frozen_credentials)


class Signer:
    """Signs POST requests for one region."""

    def __init__(self, current: Credentials, region: str) -> None:
        self._current = current
        self._region = region

    def signed_headers(
        self, url: str, headers: Mapping[str, str], body: bytes, deadline: Deadline
    ) -> dict[str, str]:
        """``headers`` with ``Authorization`` and what belongs to it.

        Credentials that run out are renewed before, within ``deadline``: whatever botocore
        raises for that, and :class:`~notifications.sockets.PeerTimeout`, is raised.
        """
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest(method="POST", url=url, headers=dict(headers), data=body)
        SigV4Auth(self._current(deadline), SERVICE, self._region).add_auth(request)
        return dict(request.headers.items())
