"""What stands in a broker's configuration file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from towpath.dev.certificates import Certificate
from towpath.model.secret import Secret

BACK_DOOR_USER = "User:ANONYMOUS"
"""Who comes in through the listener of the brokers themselves; always a super user."""

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True)
class Security:
    """How clients must come in, and what they may do.

    Attributes:
        broker: The brokers' certificate; without one there is no TLS.
        authority: PEM file of the authority that both sides trust.
        client_certificate: Whether a client must show a certificate; one that it shows although
            it need not (`requested`) must be valid too.
        users: Passwords by user name, for PLAIN and both kinds of SCRAM; without any there is no
            SASL.
        super_users: Principals that may do everything, such as `User:admin`.
        authorize: Whether everybody else may do only what an ACL allows.
    """

    broker: Certificate | None = None
    authority: Path | None = None
    client_certificate: Literal["none", "requested", "required"] = "none"
    users: Mapping[str, Secret] = field(default_factory=dict)
    super_users: tuple[str, ...] = ()
    authorize: bool = False

    @property
    def protocol(self) -> str:
        """Kafka's name for it, such as `SASL_SSL`."""
        plain = "SSL" if self.broker else "PLAINTEXT"
        return f"SASL_{plain}" if self.users else plain


@dataclass(frozen=True, slots=True)
class Ports:
    """Where one broker listens; clients that come to `proxy` are sent to `proxy_advertised`."""

    client: int
    internal: int
    controller: int
    proxy: int | None = None
    proxy_advertised: int | None = None

    def listeners(self) -> Mapping[str, tuple[int, int]]:
        """Return where each listener binds, and the port it tells clients."""
        listeners = {
            "CLIENT": (self.client, self.client),
            "INTERNAL": (self.internal, self.internal),
        }
        if self.proxy is not None and self.proxy_advertised is not None:
            listeners["PROXY"] = (self.proxy, self.proxy_advertised)
        return listeners


def broker_properties(
    node: int, ports: Sequence[Ports], data: Path, security: Security | None = None
) -> dict[str, str]:
    """Return the settings of broker `node`, which counts from 1 through `ports`.

    Every broker is a controller too, so three of them survive the loss of any one.
    """
    own = ports[node - 1]
    count = len(ports)
    listeners = own.listeners()
    bound = [f"{name}://127.0.0.1:{port}" for name, (port, _) in listeners.items()]
    told = [f"{name}://127.0.0.1:{port}" for name, (_, port) in listeners.items()]
    voters = [f"{n}@127.0.0.1:{each.controller}" for n, each in enumerate(ports, start=1)]
    protocol = (security or Security()).protocol
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(voters),
        "listeners": ",".join([*bound, f"CONTROLLER://127.0.0.1:{own.controller}"]),
        "advertised.listeners": ",".join(told),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": f"CLIENT:{protocol},INTERNAL:PLAINTEXT,"
        "CONTROLLER:PLAINTEXT,PROXY:PLAINTEXT",
        "log.dirs": str(data),
        **_replication(count),
        **_quick(),
        **_security(security),
    }


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the settings as a Java properties file."""
    lines = (f"{name}={value.replace(chr(92), chr(92) * 2)}" for name, value in properties.items())
    return "\n".join(lines) + "\n"


def _replication(brokers: int) -> dict[str, str]:
    copies = min(brokers, 3)
    in_sync = str(max(1, copies - 1))
    return {
        "default.replication.factor": str(copies),
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": str(copies),
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "2",
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": in_sync,
        # A dead broker is noticed, and may come back, after seconds; a busy one keeps its place.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "1000",
        # Each such record wakes every thread of the quorum; half a second is the default.
        "metadata.max.idle.interval.ms": "10000",
    }


def _quick() -> dict[str, str]:
    """Return what makes a small broker start fast and clean up at once."""
    return {
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        "log.cleaner.backoff.ms": "1000",
        # Only a topic that asks for it loses old records: test data is often older than a week.
        "log.retention.ms": "-1",
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",
        "log.segment.delete.delay.ms": "1000",
    }


def _security(security: Security | None) -> dict[str, str]:
    if security is None:
        return {}
    properties = dict(_tls(security))
    if security.users:
        properties |= _sasl(security.users)
    if security.authorize:
        properties |= {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": ";".join((BACK_DOOR_USER, *security.super_users)),
        }
    return properties


def _tls(security: Security) -> Mapping[str, str]:
    if security.broker is None:
        return {}
    own = "listener.name.client.ssl"
    return {
        f"{own}.keystore.type": "PEM",
        f"{own}.keystore.location": str(security.broker.both),
        f"{own}.truststore.type": "PEM",
        f"{own}.truststore.location": str(security.authority),
        f"{own}.client.auth": security.client_certificate,
    }


def _sasl(users: Mapping[str, Secret]) -> Mapping[str, str]:
    modules = "org.apache.kafka.common.security"
    known = " ".join(f'user_{name}="{secret.reveal()}"' for name, secret in users.items())
    plain = f"{modules}.plain.PlainLoginModule required {known};"
    scram = f"{modules}.scram.ScramLoginModule required;"
    return {
        "listener.name.client.sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM)),
        "listener.name.client.plain.sasl.jaas.config": plain,
        **{f"listener.name.client.{name.lower()}.sasl.jaas.config": scram for name in SCRAM},
    }
