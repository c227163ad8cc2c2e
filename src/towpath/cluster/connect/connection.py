"""Opening of a connection to a broker, with TLS and login.

The control plane and the data path both use it, so users see one set of error messages.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslHandshakeRequest

from towpath import __version__
from towpath.cluster.codes import UNSUPPORTED_VERSION, refused
from towpath.cluster.connect.border import translated
from towpath.cluster.connect.exchange import (
    Address,
    StrangeAnswerError,
    Versions,
    address_text,
    ask,
    pick_version,
)
from towpath.cluster.connect.identity import ClusterIdentity
from towpath.cluster.connect.login import SecurityError, log_in
from towpath.cluster.connect.security import ssl_context
from towpath.cluster.connect.tls_errors import explain
from towpath.cluster.metadata import Broker
from towpath.model.errors import UnreachableError
from towpath.model.foreign import foreign
from towpath.model.nouns import NO_CLUSTER
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig, Tls

_BUFFER = 4 << 20
_API_VERSIONS_AT_FIRST = 3
DESCRIBE_QUORUM = 55
"""Api key of the request about the quorum of controllers."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """A node's answer to ApiVersions, given before any login.

    Attributes:
        api_versions: Lowest and highest version of each request that the node takes.
        features: Finalized level of each feature of the cluster (KIP-584); empty where the node
            does not know them.
        supported: Highest level of each feature that the node's software supports.
        migrating: Whether it is configured for a migration from ZooKeeper to KRaft (KIP-866).
    """

    api_versions: Versions
    features: Mapping[str, int]
    supported: Mapping[str, int]
    migrating: bool


_NAMED_IN = {"controllers": "controllers.nodes"}
"""Where a file names addresses that are not `bootstrap` of their side."""


@dataclass(frozen=True, slots=True)
class Connected:
    """An open connection after TLS and login.

    Attributes:
        socket: A blocking socket without a timeout.
        expires: When the login expires (KIP-368); connect again before. `None` for never.
        api_versions: Lowest and highest version of each request that the broker takes.
        supported: Highest level of each feature that the broker's software supports.
        cluster: The id of its cluster, "" if it told none.
    """

    socket: socket.socket
    expires: Deadline | None
    api_versions: Versions
    supported: Mapping[str, int] = field(default_factory=dict)
    cluster: str = ""

    @property
    def expired(self) -> bool:
        """Whether the login must be renewed before the next request."""
        return self.expires is not None and self.expires.over


class UnresolvedError(UnreachableError):
    """A broker's host name does not resolve on this machine."""

    code = "CLUSTER_UNRESOLVED"


def connect_to(
    config: ClusterConfig, identity: ClusterIdentity, broker: Broker, deadline: Deadline
) -> Connected:
    """Connect to a broker at its advertised address."""
    side = identity.side
    try:
        return connect(config, side, broker.host, broker.port, deadline, identity)
    except UnresolvedError as error:
        if f"{broker.host}:{broker.port}" in config.bootstrap:
            raise
        raise UnresolvedError(
            side,
            f"connecting to {broker}",
            f"the broker advertises the host {broker.host}, which does not resolve here",
            f"set `advertised.listeners` of broker {broker.id} to a host that clients can reach, or"
            f" make {broker.host} resolve on this machine",
        ) from error


def connect(
    config: ClusterConfig,
    side: str,
    host: str,
    port: int,
    deadline: Deadline,
    identity: ClusterIdentity | None = None,
) -> Connected:
    """Connect to one broker, with TLS and login.

    Args:
        config: How to reach the cluster.
        side: `source` or `target`, or what else errors shall call it.
        host: The host, an IPv6 address without brackets.
        port: The port.
        deadline: Until when to try.
        identity: The cluster that the broker must belong to, `None` for any.

    Raises:
        ClusterReplacedError: The broker belongs to another cluster than those before.
        RefusedError: The broker does not accept the login.
        SecurityError: `tls` or `sasl` do not match the broker; a retry would fail again.
        UnreachableError: Nothing answers at the address.
    """
    address = host, port
    what = f"connecting to {address_text(address)}"
    connection = _reach(side, what, address, deadline)
    try:
        with _explained(config, side, what, host):
            if config.tls:
                connection = _encrypt(connection, config.tls, host, deadline)
            said = _greet(connection, side, deadline)
            versions, expires = said.api_versions, None
            if config.sasl:
                expires = log_in(connection, config, side, address, versions, deadline)
            try:
                cluster = _enter(connection, side, versions, deadline)
            except ConnectionError as error:
                if config.sasl:
                    raise
                raise _no_entry(side, what, identity) from error
        if identity is not None:
            identity.require(cluster)
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return Connected(connection, expires, versions, said.supported, cluster)


def greet(config: ClusterConfig, side: str, address: Address, deadline: Deadline) -> Greeting:
    """Return a node's ApiVersions answer, which needs no login.

    Raises:
        SecurityError: `tls` does not match the node; a retry would fail again.
        UnreachableError: Nothing answers at the address.
    """
    host = address[0]
    what = f"asking {address_text(address)} what it is"
    connection = _reach(side, what, address, deadline)
    try:
        with _explained(config, side, what, host):
            if config.tls:
                connection = _encrypt(connection, config.tls, host, deadline)
            return _greet(connection, side, deadline)
    finally:
        connection.close()


def offered_mechanisms(
    config: ClusterConfig, side: str, address: Address, deadline: Deadline
) -> frozenset[str]:
    """Return the SASL mechanisms that a broker offers its clients, which needs no login.

    Raises:
        SecurityError: `tls` does not match the broker; a retry would fail again.
        UnreachableError: Nothing answers at the address.
    """
    what = f"asking {address_text(address)} how clients log in"
    connection = _reach(side, what, address, deadline)
    try:
        with _explained(config, side, what, address[0]):
            if config.tls:
                connection = _encrypt(connection, config.tls, address[0], deadline)
            _greet(connection, side, deadline)
            answer = ask(connection, SaslHandshakeRequest(mechanism=""), 1, deadline)
            return frozenset(answer.mechanisms)
    finally:
        connection.close()


def _reach(side: str, what: str, address: Address, deadline: Deadline) -> socket.socket:
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnresolvedError(
            side,
            what,
            f"the name {address[0]} does not resolve",
            f"correct it in `{_NAMED_IN.get(side, f'{side}.bootstrap')}` if it is misspelt, and"
            " start again; if DNS learns it later, a run that waits goes on by itself",
        ) from error
    last: OSError | None = None
    for position, (family, kind, protocol, _, at) in enumerate(found):
        share = max(deadline.left() / (len(found) - position), 0.001)
        try:
            # A kernel without IPv6 cannot open a socket for an IPv6 address.
            connection = socket.socket(family, kind, protocol)
            with _closed_on_error(connection):
                _tune(connection)
                connection.settimeout(share)
                connection.connect(at)
        except OSError as error:
            last = error
        else:
            return connection
    raise _not_reached(side, what, last)


@contextmanager
def _closed_on_error(connection: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _not_reached(side: str, what: str, error: OSError | None) -> UnreachableError:
    if isinstance(error, ConnectionRefusedError):
        why, advice = "nothing listens there", "check the port, and whether the broker runs"
    elif isinstance(error, TimeoutError):
        why, advice = "no answer in time", "check the address, and firewalls on the way"
    else:
        why = foreign(error) if error else "it has no address"
        advice = "check the address and the network"
    return UnreachableError(side, what, why, advice)


def _tune(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)


def _encrypt(connection: socket.socket, tls: Tls, host: str, deadline: Deadline) -> ssl.SSLSocket:
    connection.settimeout(max(deadline.left(), 0.001))
    return ssl_context(tls).wrap_socket(connection, server_hostname=host.rstrip("."))


def _greet(connection: socket.socket, side: str, deadline: Deadline) -> Greeting:
    """Ask a node for its request versions. An old broker answers in version 0."""
    request = ApiVersionsRequest(
        client_software_name="towpath", client_software_version=__version__
    )
    answer = ask(connection, request, _API_VERSIONS_AT_FIRST, deadline)
    if answer.error_code == UNSUPPORTED_VERSION:
        answer = ask(connection, ApiVersionsRequest(), 0, deadline)
    if answer.error_code:
        raise refused(side, "asking for the versions of its requests", answer.error_code)
    # Without an epoch the node does not know the finalized levels (yet).
    told = (answer.finalized_features or ()) if answer.finalized_features_epoch >= 0 else ()
    return Greeting(
        {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys},
        {each.name: each.max_version_level for each in told},
        {each.name: each.max_version for each in answer.supported_features or ()},
        bool(answer.zk_migration_ready),
    )


def _enter(connection: socket.socket, side: str, versions: Versions, deadline: Deadline) -> str:
    """Ask a first question; return the id of the cluster, "" if the answer has none.

    A broker that wants a login hangs up on the first request after the greeting. So one is sent
    here, where that has one meaning.
    """
    nothing = _question(versions)
    answer = ask(connection, nothing, pick_version(side, nothing, versions), deadline)
    return getattr(answer, "cluster_id", None) or ""


def _no_entry(side: str, what: str, identity: ClusterIdentity | None) -> UnreachableError:
    """Return the error that a broker hung up on the first request.

    It may expect a login. One of a cluster that was reached before rather lost its connection, and
    will be there again.
    """
    why, advice = "the broker hung up on the first request", "the port seems to expect a login"
    if identity is None or identity.cluster == NO_CLUSTER:
        return SecurityError(side, what, why, f"{advice}; add `sasl:`")
    return UnreachableError(side, what, why, f"if that goes on, {advice}: add `sasl:`")


def _question(versions: Versions) -> Any:
    """Return a request that changes nothing; controllers of a quorum know no Metadata."""
    if MetadataRequest.API_KEY in versions or DESCRIBE_QUORUM not in versions:
        return MetadataRequest(topics=[], allow_auto_topic_creation=False)
    # Most processes never meet a controller, and these messages take time to import.
    from kafka.protocol.admin import DescribeQuorumRequest  # noqa: PLC0415

    return DescribeQuorumRequest(topics=[])


@contextmanager
def _explained(config: ClusterConfig, side: str, what: str, host: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        why, advice, hopeless = explain(error, config.tls, host)
        raise (SecurityError if hopeless else UnreachableError)(side, what, why, advice) from error
    except (StrangeAnswerError, ConnectionError) as error:
        raise _odd_end(config, side, what, error) from error
    except OSError as error:
        raise translated(side, what, error) from error


def _odd_end(config: ClusterConfig, side: str, what: str, error: OSError) -> UnreachableError:
    """An end or an answer that a broker does not give where both sides agree on encryption."""
    if config.tls:
        return UnreachableError(
            side,
            what,
            "the broker closed the connection while it was set up",
            "look whether the port speaks TLS (else remove `tls:`) and what the broker's log says",
        )
    if isinstance(error, StrangeAnswerError):
        return SecurityError(
            side,
            what,
            "the answer is none of Kafka's protocol",
            "the port seems to expect TLS, add `tls:`"
            if error.start[:2] == b"\x15\x03"
            else "look whether a Kafka broker listens there",
        )
    return UnreachableError(
        side,
        what,
        "the broker closed the connection at once",
        "look whether it is just starting or stopping; if not, the port seems to expect TLS, add"
        " `tls:`",
    )
