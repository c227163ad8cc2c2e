"""SASL login on a new connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from towpath.cluster.codes import (
    SASL_AUTHENTICATION_FAILED,
    UNSUPPORTED_SASL_MECHANISM,
    code,
    refused,
)
from towpath.cluster.connect.exchange import Address, Versions, address_text, ask, pick_version
from towpath.cluster.connect.security import sasl_mechanism
from towpath.model.errors import ExtraMissingError, RefusedError, UnreachableError
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

_USABLE = 0.85
"""Share of a session's lifetime that is used: the rest is for in-flight requests."""


class SecurityError(UnreachableError):
    """`tls` or `sasl` do not match the broker, so a retry is useless."""

    code = "CLUSTER_SECURITY"


def log_in(
    connection: socket.socket,
    config: ClusterConfig,
    side: str,
    address: Address,
    versions: Versions,
    deadline: Deadline,
) -> Deadline | None:
    """Log in as `config.sasl` says; return when the session expires, `None` for never.

    Args:
        connection: A new connection to a broker.
        config: The cluster, with a login.
        side: Which cluster it is, for errors.
        address: The broker's address.
        versions: The versions of requests that the broker takes.
        deadline: Bounds the whole login.

    Raises:
        ExtraMissingError: The library that the mechanism needs is not installed.
        RefusedError: The broker does not offer the mechanism, or does not know the login.
        SecurityError: The credentials cannot be produced on our side.
        OSError: The connection broke.
    """
    assert config.sasl  # noqa: S101, the caller asked
    what = f"logging in to {address_text(address)} by {config.sasl.mechanism}"
    _agree(connection, config.sasl.mechanism, side, what, versions, deadline)
    version = pick_version(side, SaslAuthenticateRequest, versions)
    with _our_part(side, what):
        mechanism = sasl_mechanism(config, address[0])
    answer: Any = None
    while not mechanism.is_done():
        with _our_part(side, what):
            request = SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes())
        answer = ask(connection, request, version, deadline)
        if answer.error_code:
            raise refused(side, what, answer.error_code, answer.error_message)
        with _our_part(side, what):
            mechanism.receive(answer.auth_bytes)
    if not mechanism.is_authenticated():
        raise refused(side, what, SASL_AUTHENTICATION_FAILED)
    lifetime = answer.session_lifetime_ms / 1000 if answer and version else 0
    return Deadline.after(lifetime * _USABLE) if lifetime > 0 else None


def _agree(
    connection: socket.socket,
    mechanism: str,
    side: str,
    what: str,
    versions: Versions,
    deadline: Deadline,
) -> None:
    version = pick_version(side, SaslHandshakeRequest, versions)
    answer = ask(connection, SaslHandshakeRequest(mechanism=mechanism), version, deadline)
    if answer.error_code == UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(sorted(answer.mechanisms)) or "none"
        raise RefusedError(
            side,
            what,
            answer.error_code,
            code(answer.error_code).name,
            f"the broker offers {offered}; set `sasl.mechanism` to one that it offers",
        )
    if answer.error_code:
        raise refused(side, what, answer.error_code)


@contextmanager
def _our_part(side: str, what: str) -> Iterator[None]:
    """Treat every error of Kerberos, AWS and the user's command as a failed login."""
    try:
        yield
    except ExtraMissingError:
        raise
    except Exception as error:
        raise SecurityError(
            side, what, foreign(error), "check the `sasl` block and what it needs on this machine"
        ) from error
