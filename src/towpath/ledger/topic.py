"""Creation and required configs of the ledger topic and the topic of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry, TopicInfo
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.nouns import EVENTS, LEDGER, NO_TOPIC_ID, TopicId

TOPIC = LEDGER
APPEND_BYTES = 512 << 10
"""Upper bound on the size of the entries in one batch, in bytes."""
_BATCH_BYTES = APPEND_BYTES * 3 // 2
"""Upper bound on the size of a record batch, in bytes."""

_CONFIGS = {
    "cleanup.policy": "compact",
    "max.message.bytes": "10485760",
    "segment.bytes": "67108864",
    # The cleaner compacts closed segments only; heartbeats and receipts would pile up otherwise.
    "segment.ms": "600000",
    "message.timestamp.type": "CreateTime",
}
_DAY_MS = 86_400_000
_EVENT_CONFIGS = {
    "cleanup.policy": "delete",
    # A quarter: who asks after a migration what was done asks while it is fresh. A busy link writes
    # a few thousand events of about 500 bytes a day; the size bounds one whose partitions flap.
    "retention.ms": str(90 * _DAY_MS),
    "retention.bytes": str(1 << 30),
    "message.timestamp.type": "CreateTime",
}
_REPLICAS = 3
_PARTITIONS = 5
_NEEDED = 2
"""Minimum number of partitions. Without a third one, runs are kept among the facts, without a
fourth one, groups among the runs, and without a fifth one, schemas among the facts."""


@dataclass(frozen=True, slots=True)
class LedgerTopic:
    """The ledger topic as it exists on the target.

    Attributes:
        id: Its topic id.
        faults: Sentences about configs that make the topic unusable.
        hidden: Why the topic configs cannot be read, if so.
        unseen: Why the topic cannot be described, if so.
    """

    id: TopicId = NO_TOPIC_ID
    faults: tuple[str, ...] = ()
    hidden: ClusterError | None = None
    unseen: ClusterError | None = None

    def require(self) -> None:
        """Raise if the ledger topic is unusable.

        Raises:
            LedgerError: The topic would lose entries or refuse them.
        """
        if self.faults:
            raise LedgerError("\n".join(self.faults))


def create(admin: Admin, brokers: int, *, validate_only: bool = False) -> None:
    """Create the ledger topic, or only let the target validate the creation."""
    replicas = min(_REPLICAS, brokers)
    admin.topics.create(TOPIC, _PARTITIONS, replicas, _CONFIGS, validate_only=validate_only)


def create_events(admin: Admin) -> None:
    """Create the topic of events, unless it exists.

    Raises:
        ClusterError: The target refuses it, or cannot be asked.
    """
    admin.topics.create_small(EVENTS, _EVENT_CONFIGS)


def find(admin: Admin) -> LedgerTopic | None:
    """Describe the ledger topic, if it exists; configs hidden from the login count as good.

    Raises:
        ClusterError: The target cannot be asked.
    """
    info = admin.topics.describe([TOPIC]).get(TOPIC)
    if info is None:
        return None
    if info.error is not None:
        return LedgerTopic(info.id, unseen=info.error)
    configs = admin.configs.describe([TOPIC])
    faults = _faults(info, configs.get(TOPIC, {}))
    return LedgerTopic(info.id, tuple(faults), configs.failed.get(TOPIC))


def _faults(info: TopicInfo, configs: Mapping[str, ConfigEntry]) -> Iterator[str]:
    has = f"target: topic {TOPIC} has"
    if len(info.partitions) < _NEEDED:
        yield (
            f"{has} 1 partition, and the ledger needs {_NEEDED}, for facts and for signs of"
            f" life; let it grow to {_NEEDED}"
        )
    policy, largest = (_value(configs, key) for key in ("cleanup.policy", "max.message.bytes"))
    if policy is not None and policy != "compact":
        lost = "entries would be lost and partitions be opened anew"
        yield (
            f"{has} cleanup.policy={policy}, so {lost if policy else 'entries would pile up'};"
            " set cleanup.policy=compact on it"
        )
    if largest is not None and int(largest) < _BATCH_BYTES:
        yield (
            f"{has} max.message.bytes={largest}, and entries are written in batches of up to"
            f" {_BATCH_BYTES} bytes; set max.message.bytes={_CONFIGS['max.message.bytes']} on it"
        )


def _value(configs: Mapping[str, ConfigEntry], key: str) -> str | None:
    found = configs.get(key)
    return found.value if found else None
