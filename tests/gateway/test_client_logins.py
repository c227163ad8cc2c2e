"""Of a login the gateway reads mechanism and name, and no secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from tests.support.clients.promoted_routes import framed
from towpath.gateway.client_logins import ClientLogin, LoginState, SeenLogins, user_name
from towpath.gateway.frames import head


@pytest.mark.parametrize(
    ("mechanism", "said", "name"),
    [
        ("PLAIN", b"\0me\0secret", "me"),
        ("PLAIN", b"other\0me\0secret", "me"),
        ("PLAIN", b"secret", ""),
        ("PLAIN", b"a\0b\0secret\0c", ""),
        ("SCRAM-SHA-512", b"n,,n=a=3Db=2Cc,r=nonce", "a=b,c"),
        ("SCRAM-SHA-256", b"n,,n=me,r=nonce", "me"),
        ("SCRAM-SHA-256", b"c=biws,r=nonce,p=secret", ""),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer secret\x01\x01", ""),
        ("GSSAPI", b"\x60\x82", ""),
    ],
)
def test_the_name_is_read(mechanism: str, said: bytes, name: str) -> None:
    assert user_name(mechanism, said) == name


@pytest.mark.parametrize(
    ("mechanism", "said", "is_one"),
    [
        ("SCRAM-SHA-256", b"n,,n=id,r=nonce,tokenauth=true", True),
        ("SCRAM-SHA-512", b"n,,n=id,r=nonce,tokenauth=TRUE", True),
        ("SCRAM-SHA-256", b"n,,n=id,r=nonce,tokenauth=false", False),
        ("SCRAM-SHA-256", b"n,,n=tokenauth=true,r=nonce", False),
        ("PLAIN", b"a,b,tokenauth=true", False),
    ],
)
def test_a_delegation_token_is_told_from_a_user(mechanism: str, said: bytes, is_one: bool) -> None:
    state = LoginState()
    messages = SaslHandshakeRequest(mechanism=mechanism), SaslAuthenticateRequest(auth_bytes=said)
    for message in messages:
        frame = framed(message, 1)
        state.saw(frame, head(frame))
    assert state.login is not None
    assert state.login.token is is_one


@given(st.sampled_from(["PLAIN", "SCRAM-SHA-256", "X"]), st.binary(max_size=600))
def test_whatever_is_said_gives_a_short_name_or_none(mechanism: str, said: bytes) -> None:
    assert len(user_name(mechanism, said)) <= 256


def test_a_login_is_told_by_its_first_messages() -> None:
    state = LoginState()
    for message in (
        SaslHandshakeRequest(mechanism="SCRAM-SHA-256"),
        SaslAuthenticateRequest(auth_bytes=b"n,,n=me,r=nonce"),
        SaslAuthenticateRequest(auth_bytes=b"c=biws,r=nonce,n=secret,p=secret"),
    ):
        frame = framed(message, 1)
        state.saw(frame, head(frame))
    assert state.login == ClientLogin("SCRAM-SHA-256", "me")


def test_those_that_came_last_are_remembered() -> None:
    seen = SeenLogins(most=2)
    for name in ("b", "a", "b", "c"):
        seen.saw(ClientLogin("PLAIN", name))
    assert [each.name for each in seen.all()] == ["b", "c"]
