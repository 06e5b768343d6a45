"""Published keys, asked for over UDP from a name server of our own."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator, Mapping

import dns.message
import dns.rcode
import dns.resolver
import dns.rrset
import pytest

from notifications.email.dkim_dns import look_up
from notifications.email.dkim_inspection import LookUpFailed
from notifications.email.dkim_records import record_problem, record_text
from tests.dkim_samples import RSA

NAME = "2026a-rsa._domainkey.shop.example"


@contextlib.contextmanager
def name_server(answers: Mapping[str, list[str]], rcode: dns.rcode.Rcode) -> Iterator[int]:
    """Answers with the TXT values of a name, in strings of 255 octets, else with ``rcode``; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        answering = threading.Thread(target=_answer, args=(server, answers, rcode), daemon=True)
        answering.start()
        try:
            yield server.getsockname()[1]
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", server.getsockname())
            answering.join(timeout=10)


def _answer(server: socket.socket, answers: Mapping[str, list[str]], rcode: dns.rcode.Rcode) -> None:
    while True:
        packet, client = server.recvfrom(4096)
        if not packet:
            return
        query = dns.message.from_wire(packet)
        response = dns.message.make_response(query)
        values = answers.get(query.question[0].name.to_text())
        if values:
            texts = [" ".join(f'"{v[i : i + 255]}"' for i in range(0, len(v), 255)) for v in values]
            response.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "TXT", *texts))
        else:
            response.set_rcode(rcode)
        server.sendto(response.to_wire(), client)


def ask(
    monkeypatch: pytest.MonkeyPatch,
    answers: Mapping[str, list[str]],
    rcode: dns.rcode.Rcode = dns.rcode.NXDOMAIN,
) -> str | None:
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    monkeypatch.setattr(dns.resolver, "default_resolver", resolver)
    with name_server(answers, rcode) as port:
        resolver.port = port
        return look_up(NAME)


def test_a_record_in_several_strings_is_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    record = ask(monkeypatch, {f"{NAME}.": [record_text(RSA)]})
    assert record == record_text(RSA)
    assert len(record) > 255
    assert record_problem(record, RSA) == ""


@pytest.mark.parametrize("rcode", [dns.rcode.NXDOMAIN, dns.rcode.NOERROR])
def test_no_record_is_an_answer(monkeypatch: pytest.MonkeyPatch, rcode: dns.rcode.Rcode) -> None:
    assert ask(monkeypatch, {}, rcode) is None


def test_a_server_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LookUpFailed, match=f"no answer for {NAME} "):
        ask(monkeypatch, {}, dns.rcode.SERVFAIL)


def test_two_records_at_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LookUpFailed, match="has 2 TXT records"):
        ask(monkeypatch, {f"{NAME}.": [record_text(RSA), "v=spf1 -all"]})


def test_without_dnspython_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dns.resolver", None)
    with pytest.raises(LookUpFailed, match="pip install dnspython"):
        look_up(NAME)
