"""The option ``dkim``: what is read from it, and what is refused how."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from notifications.email.dkim_options import DkimSetup, is_aligned, read_dkim
from notifications.email.dkim_problems import DkimMisconfigured, DkimProblem
from notifications.email.smtp import SmtpTransport
from notifications.exceptions import TransportMisconfigured
from tests.dkim_samples import pem, rsa_key

SEED = base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode()
RSA_PEM = pem(rsa_key(2048))
ENCRYPTED = (
    rsa_key(2048)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"passphrase"))
    .decode()
)
EC_PEM = generate_ec(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def rsa(**changes: Any) -> dict[str, Any]:
    return {"selector": "r1", "algorithm": "rsa", "key": RSA_PEM, **changes}


def ed25519(**changes: Any) -> dict[str, Any]:
    return {"selector": "e1", "algorithm": "ed25519", "key": SEED, **changes}


def read(*keys: Any, domain: str = "shop.example", from_domain: str = "shop.example") -> DkimSetup:
    return read_dkim({"domain": domain, "keys": list(keys)}, from_domain=from_domain)


def selectors(setup: DkimSetup) -> tuple[list[str], list[str]]:
    return [key.selector for key in setup.signer.keys], [key.selector for key in setup.waiting]


@pytest.mark.parametrize(
    "key",
    [
        rsa(),
        rsa(key=pem(rsa_key(2048), PrivateFormat.TraditionalOpenSSL)),
        rsa(key=RSA_PEM.replace("\n", "\\n")),
        rsa(key=f"\n  {RSA_PEM}\n"),
        ed25519(),
        ed25519(key=pem(Ed25519PrivateKey.generate())),
    ],
)
def test_a_key_is_read_in_each_of_its_forms(key: dict[str, Any]) -> None:
    assert selectors(read(key)) == ([key["selector"]], [])


@pytest.mark.parametrize(("make", "text"), [(rsa, RSA_PEM), (ed25519, SEED + "\n")], ids=["rsa", "ed25519"])
def test_a_key_is_read_from_a_file(tmp_path: Path, make: Any, text: str) -> None:
    file = tmp_path / "dkim.key"
    file.write_text(text)
    assert len(read(make(key="", key_file=str(file))).signer.keys) == 1


def test_the_first_key_of_an_algorithm_signs_and_the_second_waits() -> None:
    keys = (rsa(), ed25519(), rsa(selector="r2"), ed25519(selector="e2"))
    assert selectors(read(*keys)) == (["r1", "e1"], ["r2", "e2"])


@pytest.mark.parametrize(
    ("domain", "from_domain", "expected"),
    [
        ("shop.example", "shop.example", True),
        ("shop.example", "mail.shop.example", True),
        ("mail.shop.example", "shop.example", True),
        ("SHOP.example", "shop.EXAMPLE", True),
        ("eshop.example", "shop.example", False),
        ("shop.example", "eshop.example", False),
        ("shop.example", "shop.example.net", False),
        ("a.shop.example", "b.shop.example", False),
    ],
)
def test_a_domain_is_aligned_with_itself_and_what_is_above_or_below(
    domain: str, from_domain: str, expected: bool
) -> None:
    assert is_aligned(domain, from_domain) is expected


def test_the_signing_domain_is_written_as_a_labels() -> None:
    setup = read(rsa(), domain="Straße.example", from_domain="xn--strae-oqa.example")
    assert setup.signer.domain == "xn--strae-oqa.example"


@pytest.mark.parametrize(
    ("keys", "problem", "words"),
    [
        ([], DkimProblem.KEY, "names no key"),
        ([rsa(key="")], DkimProblem.KEY, "no key"),
        ([rsa(key_file="also.pem")], DkimProblem.KEY, "two keys"),
        ([rsa(key="", key_file="missing.pem")], DkimProblem.KEY, "'missing.pem'"),
        ([rsa(key="nonsense")], DkimProblem.KEY, "no private key"),
        ([rsa(key=RSA_PEM[:200])], DkimProblem.KEY, "no private key"),
        ([rsa(key=ENCRYPTED)], DkimProblem.KEY, "passphrase"),
        ([ed25519(key=SEED[:-4])], DkimProblem.KEY, "32-byte seed"),
        ([ed25519(key="é")], DkimProblem.KEY, "no private key"),
        ([rsa(algorithm="dsa")], DkimProblem.ALGORITHM, "'dsa'"),
        ([rsa(algorithm=None)], DkimProblem.ALGORITHM, "None"),
        ([rsa(algorithm="ed25519")], DkimProblem.ALGORITHM, "holds a key of 'rsa'"),
        ([ed25519(algorithm="rsa")], DkimProblem.ALGORITHM, "holds a key of 'ed25519'"),
        ([rsa(key=EC_PEM)], DkimProblem.ALGORITHM, "does not know"),
        ([rsa(key=pem(rsa_key(1024)))], DkimProblem.KEY_SIZE, "1024 bits"),
        ([rsa(), ed25519(selector="R1")], DkimProblem.OPTION, "twice"),
        ([rsa(), rsa(selector="b"), rsa(selector="c")], DkimProblem.OPTION, "more than two"),
        ([rsa(selector="a b")], DkimProblem.OPTION, "'a b'"),
        ([rsa(selector="a;d=evil.example")], DkimProblem.OPTION, "selector"),
        ([rsa(selector="")], DkimProblem.OPTION, "selector"),
        ([rsa(keyfile="x")], DkimProblem.OPTION, "'key_file'"),
        (["r1"], DkimProblem.OPTION, "dict"),
    ],
)
def test_a_key_that_cannot_sign_is_refused_with_its_place_and_the_fix(
    keys: list[Any], problem: DkimProblem, words: str
) -> None:
    with pytest.raises(DkimMisconfigured) as caught:
        read(*keys)
    assert caught.value.problem is problem
    assert words in str(caught.value)
    assert "dkim['keys']" in str(caught.value)


@pytest.mark.parametrize(
    "options", [{}, [], "dkim", {"domain": "shop.example"}, {"domain": "x", "keys": [], "l": 1}]
)
def test_another_form_of_the_option_is_refused(options: object) -> None:
    with pytest.raises(DkimMisconfigured, match="'domain' and 'keys'"):
        read_dkim(options, from_domain="shop.example")


@pytest.mark.parametrize("domain", ["", "shop", "shop example", "a@shop.example", None, "shop.example;"])
def test_what_is_no_domain_cannot_sign(domain: Any) -> None:
    with pytest.raises(DkimMisconfigured, match="is no domain"):
        read(rsa(), domain=domain)


@pytest.mark.parametrize(
    "key",
    [
        rsa(key=RSA_PEM[:400]),
        rsa(key=ENCRYPTED),
        rsa(key=EC_PEM),
        rsa(key=pem(rsa_key(1024))),
        rsa(algorithm="ed25519"),
        ed25519(key=SEED[:-2]),
        ed25519(algorithm="rsa"),
        ed25519(selector="a b"),
    ],
)
def test_no_refusal_quotes_the_key(key: dict[str, Any]) -> None:
    with pytest.raises(DkimMisconfigured) as caught:
        read(key)
    lines = [line for line in key["key"].splitlines() if not line.startswith("-----")]
    said = f"{caught.value!r} {caught.value.hint}"
    # What lies beneath is the libraries', and no report may print it.
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not [line for line in lines if line[:12] in said]


def transport(from_address: str, **options: Any) -> SmtpTransport:
    return SmtpTransport(host="localhost", username="", tls="none", from_address=from_address, **options)


def test_a_transport_whose_from_is_anothers_is_not_made() -> None:
    options = {"domain": "other.example", "keys": [rsa()]}
    with pytest.raises(
        TransportMisconfigured, match=r"'other\.example', but messages are from 'shop\.example'"
    ):
        transport("Shop <a@shop.example>", dkim=options)


def test_a_transport_signs_for_the_domain_above_its_from() -> None:
    made = transport("a@mail.shop.example", dkim={"domain": "shop.example", "keys": [rsa()]})
    assert made.dkim is not None
    assert made.dkim.signer.domain == "shop.example"


def test_a_transport_without_the_option_needs_none_of_its_packages() -> None:
    script = (
        "import sys; sys.modules['dkim'] = sys.modules['cryptography'] = None\n"
        "from django.conf import settings; settings.configure()\n"
        "from notifications.email.smtp import SmtpTransport\n"
        "options = {'host': 'localhost', 'from_address': 'a@shop.example'}\n"
        "SmtpTransport(**options)\n"
        "try: SmtpTransport(**options, dkim={'domain': 'shop.example', 'keys': []})\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "pip install 'resetdelivery[dkim]'" in done.stdout, done.stderr
