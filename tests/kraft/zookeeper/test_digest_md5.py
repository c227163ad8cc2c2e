"""The login by DIGEST-MD5."""

from __future__ import annotations

import pytest

from towpath.kraft.zookeeper.digest_md5 import Exchange
from towpath.model.secret import Secret

RFC = (
    b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,'
    b"charset=utf-8"
)


def test_it_answers_as_in_the_example_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "OA6MHXh6VqTrRk")
    exchange = Exchange("chris", Secret("secret"), "imap", "elwood.innosoft.com")
    answer = exchange.respond(RFC)
    assert answer is not None
    assert b"response=d388dad90d4bbd760a152321f2143af7" in answer
    assert b"secret" not in answer
    assert exchange.respond(b"rspauth=ea40f60335c427b5527b84dbabcdfffd") is None


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    exchange = Exchange("chris", Secret("secret"), "imap", "elwood.innosoft.com")
    exchange.respond(RFC)
    with pytest.raises(ValueError, match="does not prove"):
        exchange.respond(b"rspauth=00000000000000000000000000000000")


@pytest.mark.parametrize("challenge", [b"", b"hello", b'nonce="x",algorithm=md5'])
def test_a_server_that_asks_for_something_else_is_refused(challenge: bytes) -> None:
    with pytest.raises(ValueError, match="does not ask for DIGEST-MD5"):
        Exchange("chris", Secret("secret"), "imap", "x").respond(challenge)


def test_quotes_in_names_are_kept() -> None:
    exchange = Exchange('a"b\\', Secret("x"), "imap", "x")
    answer = exchange.respond(b'nonce="n\\"1"')
    assert answer is not None
    assert b'username="a\\"b\\\\"' in answer
    assert b'nonce="n\\"1"' in answer
