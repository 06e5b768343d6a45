"""Published keys, and the look at everything together."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from notifications.email.dkim import Signer, SigningKey
from notifications.email.dkim_inspection import Finding, LookUpFailed, Verdict, inspect
from notifications.email.dkim_options import DkimSetup
from notifications.email.dkim_records import read_record, record_name, record_problem, record_text
from notifications.email.mime import build_mime, parse_sender
from tests.dkim_samples import DOMAIN, ED25519, RSA, SIGNER, rsa_key
from tests.wire.samples import an_email

OTHER = SigningKey(selector="2026b-rsa", private=rsa_key(2049))
RSA_P = record_text(RSA).partition("p=")[2]
ED_P = record_text(ED25519).partition("p=")[2]
MESSAGE = build_mime(an_email(), parse_sender("Shop <no-reply@shop.example>"))
SAMPLE = SIGNER.signature_fields(MESSAGE, signed_at=1_796_000_000) + MESSAGE

LookUp = Callable[[str], str | None]


@pytest.mark.parametrize(
    "record",
    [
        record_text(RSA),
        f"p={RSA_P}",
        f"v=DKIM1;k=rsa;p={RSA_P};",
        f"v=DKIM1; h=sha1:sha256; s=email; t=s; n=a note; p={RSA_P[:100]} {RSA_P[100:]}",
        f"v=DKIM1; s=tlsrpt:*; p={RSA_P}",
    ],
)
def test_a_record_of_the_key_vouches_for_it(record: str) -> None:
    assert record_problem(record, RSA) == ""


def test_the_bare_form_of_an_rsa_key_counts_too() -> None:
    bare = RSA.private.public_key().public_bytes(Encoding.DER, PublicFormat.PKCS1)
    assert record_problem(f"v=DKIM1; p={base64.b64encode(bare).decode()}", RSA) == ""


def test_an_ed25519_record_is_the_raw_key() -> None:
    assert len(base64.b64decode(ED_P)) == 32
    assert record_problem(f"v=DKIM1; k=ed25519; p={ED_P}", ED25519) == ""


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("", "no DKIM key record"),
        ("v=spf1 -all", "no DKIM key record"),
        (f"v=DKIM2; p={RSA_P}", "no DKIM key record"),
        pytest.param(f"v=DKIM1; k=ed25519; p={ED_P}", "k=ed25519", id="k=ed25519"),
        ("v=DKIM1; k=rsa; p=", "revoked"),
        ("v=DKIM1; k=rsa", "revoked"),
        (record_text(OTHER), "another key"),
        (f"v=DKIM1; k=rsa; p={RSA_P[:-8]}", "another key"),
        ("v=DKIM1; k=rsa; p=???", "another key"),
        (f"v=DKIM1; h=sha1; p={RSA_P}", "sha256"),
        (f"v=DKIM1; s=tlsrpt; p={RSA_P}", "email"),
    ],
)
def test_a_record_that_does_not_vouch_says_why(record: str, problem: str) -> None:
    assert problem in record_problem(record, RSA)


@pytest.mark.parametrize(
    ("text", "selector", "value"),
    [
        ("v=DKIM1; p=abc\n", "", "v=DKIM1; p=abc"),
        ('"v=DKIM1; " "p=abc"', "", "v=DKIM1; p=abc"),
        (
            '2026a._domainkey IN TXT ( "v=DKIM1; k=rsa; "\n\t"p=ab"\n\t"c" ) ; ----- a note',
            "2026a",
            "v=DKIM1; k=rsa; p=abc",
        ),
        ('2026a._domainkey.shop.example. 300 IN TXT "v=DKIM1; p=abc"', "2026a", "v=DKIM1; p=abc"),
    ],
)
def test_a_file_is_a_value_or_an_entry_of_a_zone(text: str, selector: str, value: str) -> None:
    assert read_record(text) == (selector, value)


def look(look_up: LookUp, *, sample: bytes = SAMPLE, waiting: tuple[SigningKey, ...] = ()) -> list[Finding]:
    setup = DkimSetup(signer=SIGNER, waiting=waiting)
    return list(inspect(setup, from_domain=DOMAIN, sample=sample, look_up=look_up))


def published(*keys: SigningKey) -> LookUp:
    return {record_name(key.selector, DOMAIN): record_text(key) for key in keys}.get


def failures(findings: list[Finding]) -> list[str]:
    return [finding.subject for finding in findings if finding.verdict is not Verdict.OK]


def test_a_sound_setup_has_nothing_but_good_findings() -> None:
    findings = look(published(RSA, ED25519))
    assert len(findings) == 5
    assert failures(findings) == []


def test_a_missing_record_is_a_failure_that_says_what_to_publish() -> None:
    findings = look(published(ED25519))
    assert failures(findings) == ["rsa 2026a-rsa: record"]
    assert f"publish at 2026a-rsa._domainkey.shop.example: {record_text(RSA)}" in findings[1].detail


def test_a_key_that_waits_is_looked_up_but_signs_nothing() -> None:
    assert failures(look(published(RSA, ED25519), waiting=(OTHER,))) == ["rsa 2026b-rsa: record (waits)"]
    assert failures(look(published(RSA, ED25519, OTHER), waiting=(OTHER,))) == []


def test_a_sample_that_was_changed_on_its_way_fails_under_both_keys() -> None:
    findings = look(published(RSA, ED25519), sample=SAMPLE.replace(b"9 minutes", b"8 minutes"))
    assert failures(findings) == ["rsa 2026a-rsa: signed sample", "ed25519 2026a-ed: signed sample"]


def test_a_sample_that_nobody_signed_fails() -> None:
    assert len(failures(look(published(RSA, ED25519), sample=MESSAGE))) == 2


def test_no_answer_is_a_failure_with_its_reason() -> None:
    def fail(_: str) -> str | None:
        raise LookUpFailed("the DNS gives no answer")

    assert [finding.detail for finding in look(fail)][1] == "the DNS gives no answer"


def test_ed25519_is_skipped_where_nothing_can_verify_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("dkim.nacl")
    findings = look(published(RSA, ED25519))
    assert [finding.verdict for finding in findings][-1] is Verdict.SKIPPED
    assert "PyNaCl" in findings[-1].detail


def test_a_signer_of_another_key_is_found_out() -> None:
    forged = Signer(domain=DOMAIN, keys=(SigningKey(selector=RSA.selector, private=OTHER.private), ED25519))
    sample = forged.signature_fields(MESSAGE, signed_at=1) + MESSAGE
    assert failures(look(published(RSA, ED25519), sample=sample)) == ["rsa 2026a-rsa: signed sample"]
