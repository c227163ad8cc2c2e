"""The configuration file of a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ports:
    """The listeners of a broker: for clients, for brokers, and for controllers."""

    client: int
    internal: int
    controller: int

    def all(self) -> tuple[int, ...]:
        """Return all three ports."""
        return self.client, self.internal, self.controller


def broker_properties(node: int, ports: Sequence[Ports], data: Path) -> dict[str, str]:
    """Return the configs of broker `node`, which counts from 1 through `ports`.

    Every broker is a controller too, so three of them survive the loss of any one.
    """
    own = ports[node - 1]
    count = len(ports)
    listeners = f"CLIENT://127.0.0.1:{own.client},INTERNAL://127.0.0.1:{own.internal}"
    voters = [f"{n}@127.0.0.1:{each.controller}" for n, each in enumerate(ports, start=1)]
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(voters),
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{own.controller}",
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,"
        "CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        **replication(count),
        **_sharing(count),
        **_quick(),
    }


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the configs as a Java properties file."""
    lines = (f"{name}={value.replace(chr(92), chr(92) * 2)}" for name, value in properties.items())
    return "\n".join(lines) + "\n"


def replication(brokers: int) -> dict[str, str]:
    """Return the replication configs for a number of brokers."""
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
    }


def _sharing(brokers: int) -> dict[str, str]:
    copies = min(brokers, 3)
    return {
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": str(max(1, copies - 1)),
        "share.coordinator.state.topic.num.partitions": "2",  # the default is 50
    }


def _quick() -> dict[str, str]:
    """Return configs that let a small broker start fast and clean up at once."""
    return {
        # A dead broker is fenced, and may return, after seconds; a busy one is not fenced.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "1000",
        # Each no-op record wakes every thread of the quorum; the default is every half second.
        "metadata.max.idle.interval.ms": "10000",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        "log.cleaner.backoff.ms": "1000",
        # Only topics that ask for retention lose records: test data is often older than a week.
        "log.retention.ms": "-1",
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",
        "log.segment.delete.delay.ms": "1000",
    }
