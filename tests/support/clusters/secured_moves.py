"""A link with a gateway between two clusters that ask for a login, and clients that log in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.brokers import SharedCluster, set_passwords
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import allow
from tests.support.links import Link
from tests.support.whole_files import write_whole
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.model.secret import Secret

PASSWORD = "moves-with-its-password"  # noqa: S105, of users of tests


@dataclass
class SecuredMove(Link):
    """A link whose logins are those of one user, and whose gateway encrypts.

    Attributes:
        vault: The certificates.
        entrance: The listener of both clusters that link and clients come to.
        user: The link's login; `admin` may do everything.
    """

    vault: Vault | None = None
    entrance: str = "SECURED"
    user: str = "admin"

    def _side(self, cluster: LocalCluster) -> str:
        assert self.vault is not None
        assert isinstance(cluster, SharedCluster)
        tls = f" tls: {{ca: '{self.vault.ca}'}}," if self.entrance == "SECURED" else ""
        write_whole(self.folder / f"{self.user}-password", USERS[self.user].reveal())
        return (
            f"{{bootstrap: '{cluster.through(self.entrance).bootstrap}',"
            f" request_timeout: {self.timeout},{tls} sasl: {{mechanism: SCRAM-SHA-512,"
            f" username: {self.user}, password: 'file:{self.folder}/{self.user}-password'}}}}"
        )

    @property
    def bootstrap(self) -> str:
        """Where clients reach the gateway."""
        return self.gateway.split("'")[1]

    def client(self, user: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, Any]:
        """Return how librdkafka encrypts and logs in."""
        assert self.vault is not None
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.vault.ca),
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": PASSWORD,
        }

    def java_client(self, user: str) -> dict[str, str]:
        """Return how Java's clients encrypt and log in."""
        assert self.vault is not None
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.vault.ca),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="{user}" password="{PASSWORD}";',
        }


def secured_move(
    folder: Path, source: SharedCluster, target: SharedCluster, vault: Vault, name: str
) -> SecuredMove:
    """Return a link between two secured clusters, with a gateway that speaks TLS."""
    plain = source.through("CLIENT"), target.through("CLIENT")
    of = [
        next(iter(AdminClient({"bootstrap.servers": each.back_door}).list_topics().brokers))
        for each in plain
    ]
    first, one, two, metrics = (f"127.0.0.1:{each}" for each in ports.reserve(4))
    gateway = f"{{listen: '{first}', nodes: {{{of[0]}: '{one}'}}, targets: {{{of[1]}: '{two}'}},"
    gateway += f" tls: {{cert: '{vault.broker.certificate}', key: '{vault.broker.key}'}},"
    gateway += f" hold: 15s, metrics: '{metrics}'}}"
    return SecuredMove(
        folder, plain[0], plain[1], name, gateway=gateway, timeout="10s", vault=vault
    )


def admit(cluster: LocalCluster, user: str, name: str) -> None:
    """Make a user of clients, who may do all with topics and groups of this prefix."""
    set_passwords(cluster, {user: Secret(PASSWORD)})
    for kind in (ResourceType.TOPIC, ResourceType.GROUP):
        allow(cluster, kind, name, user=user)
