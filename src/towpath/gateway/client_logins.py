"""The logins of clients by SASL, which pass through to the cluster that serves a connection. Pure.

The gateway reads the mechanism and the user's name in them, and no secret.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from towpath.gateway.apis import Api
from towpath.gateway.frames import Head
from towpath.gateway.recoding import decoded

MOST = 10_000
"""Logins that are remembered: those that came last."""
_LONGEST = 256
"""Characters of the longest name that is remembered."""
_PLAIN = "PLAIN"


@dataclass(frozen=True, slots=True, order=True)
class ClientLogin:
    """A login of clients.

    Attributes:
        mechanism: The SASL mechanism.
        name: The user's name, "" where the mechanism hides it; of a delegation token its id.
        token: Whether it is one by a delegation token (KIP-48).
    """

    mechanism: str
    name: str = ""
    token: bool = False


@dataclass(slots=True)
class LoginState:
    """The login of one connection.

    Attributes:
        is_proven: Whether its broker has answered what only logged-in clients are answered.
        is_asked: Whether the broker was asked for that.
        is_noted: Whether it is among the seen ones.
        login: The login, as far as it was told.
    """

    is_proven: bool = False
    is_asked: bool = False
    is_noted: bool = False
    login: ClientLogin | None = None

    def saw(self, frame: bytes | bytearray, head: Head) -> None:
        """Note what a SaslHandshake or SaslAuthenticate request tells of the login.

        Raises:
            FrameError: It is no such request.
        """
        if head.key == Api.SASL_HANDSHAKE:
            asked: Any = decoded(SaslHandshakeRequest, frame, head.version)
            self.login = ClientLogin(asked.mechanism[:_LONGEST])
        elif self.login is not None and not self.login.name:
            asked = decoded(SaslAuthenticateRequest, frame, head.version)
            said, mechanism = bytes(asked.auth_bytes), self.login.mechanism
            name = user_name(mechanism, said)
            self.login = ClientLogin(mechanism, name, is_token(mechanism, said))


class SeenLogins:
    """The latest logins that a cluster has accepted through this gateway.

    Args:
        most: How many are remembered.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._heard: OrderedDict[ClientLogin, None] = OrderedDict()

    def saw(self, login: ClientLogin) -> None:
        """Note that a cluster accepted a login."""
        self._heard[login] = None
        self._heard.move_to_end(login)
        if len(self._heard) > self._most:
            self._heard.popitem(last=False)

    def all(self) -> list[ClientLogin]:
        """Return them, sorted."""
        return sorted(self._heard)


def is_token(mechanism: str, said: bytes) -> bool:
    """Return whether the first message of a login names a delegation token.

    Clients tell that by an extension of SCRAM, `tokenauth=true` (Kafka's `ScramExtensions`).
    """
    return mechanism.startswith("SCRAM-") and b"tokenauth=true" in said.lower().split(b",")[2:]


def user_name(mechanism: str, said: bytes) -> str:
    """Return the user's name in the first message of a login, "" if it is not told there.

    PLAIN is RFC 4616, SCRAM is RFC 5802.
    """
    if mechanism == _PLAIN:
        parts = said.split(b"\0")
        found = parts[1] if len(parts) == 3 else b""
    elif mechanism.startswith("SCRAM-"):
        fields = said.split(b",")
        found = next((each[2:] for each in fields[2:] if each[:2] == b"n="), b"")
        found = found.replace(b"=2C", b",").replace(b"=3D", b"=")
    else:
        return ""
    return found.decode("utf-8", "replace")[:_LONGEST]
