"""The contents of a cluster's metadata in one form, from either store.

Both readers make the same values of equal contents: names are decoded, numbers are doubles, the
default of an entity is None or "", enums are ours. So two images are compared with `==`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.model.acl import Acl
from towpath.model.quota import Entity
from towpath.model.scram import Credential


class ImageKind(StrEnum):
    """The parts of a metadata image, each compared and counted separately."""

    TOPICS = "topics"
    PARTITIONS = "partitions"
    CONFIGS = "configs"
    ACLS = "acls"
    USERS = "users"
    QUOTAS = "quotas"
    TOKENS = "tokens"
    PRODUCER_IDS = "producer_ids"


class ConfigOf(StrEnum):
    """The kinds of entities that have dynamic configs."""

    TOPIC = "topic"
    BROKER = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """The assignment and state of one partition, equal in both stores of a quiet cluster."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


@dataclass(frozen=True, slots=True)
class TopicImage:
    """One topic: its id, as Kafka writes it (22 letters of URL-safe base 64), and partitions."""

    id: str
    partitions: Mapping[int, PartitionImage]


@dataclass(frozen=True, slots=True)
class Scram:
    """A SCRAM credential, its salt and keys as one SHA-256 digest in hex."""

    iterations: int
    digest: str


@dataclass(frozen=True, slots=True)
class Token:
    """A delegation token: owner as `User:name`, times in ms since 1970; no HMAC."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """A delegation token: owner as `User:name`, times in ms since 1970; without its HMAC.

    Attributes:
        topics: By name.
        configs: By what they are about and its name, "" for the default of all brokers. Secret
            values are replaced by their SHA-256 digest in hex.
        acls: All ACLs.
        users: SCRAM credentials.
        quotas: By entities (in the order user, client id, or an address alone) and key.
        tokens: By token id.
        producer_ids: First producer id of the next block, None where none was ever taken. Behind a
            write of the controllers to ZooKeeper that of ZooKeeper is one block higher, as they
            write the next block as if it was taken (`ZkMigrationClient.writeProducerId`).
    """

    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    configs: Mapping[tuple[ConfigOf, str], Mapping[str, str]] = field(default_factory=dict)
    acls: frozenset[Acl] = frozenset()
    users: Mapping[Credential, Scram] = field(default_factory=dict)
    quotas: Mapping[tuple[Entity, ...], Mapping[str, float]] = field(default_factory=dict)
    tokens: Mapping[str, Token] = field(default_factory=dict)
    producer_ids: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class ImageDifference:
    """All metadata that a migration copies.

    Attributes:
        passing: Whether it changes without anybody asking for it (leader, epoch and ISR), so that
            a reading of both stores may fall between the two writes.
    """

    kind: ImageKind
    name: str
    zookeeper: str
    log: str
    passing: bool = False


@dataclass(frozen=True, slots=True)
class ImageComparison:
    """The result of a comparison of both stores.

    Attributes:
        compared: Number of things compared, by kind.
        digests: SHA-256 over the compared contents of ZooKeeper, by kind, in hex.
        differences: All of them, ordered.
        unproven: Passwords that ZooKeeper holds encoded, as `broker 1: KEY`: both stores have one,
            and nobody without the brokers' `password.encoder.secret` can tell whether the same.
    """

    compared: Mapping[ImageKind, int]
    digests: Mapping[ImageKind, str]
    differences: tuple[ImageDifference, ...]
    unproven: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both stores are equal."""
        return not self.differences
