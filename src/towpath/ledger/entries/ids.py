"""Ledger entries about schema ids: the id map, and ids that slices wait for (decision 0035)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from towpath.model.nouns import LinkName, TopicName, TopicPartition
from towpath.model.reasons import Reason

WrittenId = int | str
"""An id as entries have it: a number, or a UUID as text."""
Decisions = tuple[tuple[WrittenId, WrittenId | None], ...]
"""Ids of the source, each with what it becomes: the id on the target, itself if it passes
unchanged, or `None` if no schema that the records may use has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedIds:
    """The target's ids for schema ids of the source; the first decision is final.

    Attributes:
        name: A name that no other entry has, so that all of them are kept.
        at: When this was decided, in ms since 1970.
        subjects: Decisions by the subject at the source: its schemas have these ids on the target.
        keys: Decisions for keys of a source topic alone.
        values: Decisions for values of a source topic alone.
        why: Why the ids of topics have no other id, `None` where the registries gave the ids.
    """

    kind: ClassVar[str] = "ids"

    link: LinkName
    name: str
    at: int
    subjects: Mapping[str, Decisions] = field(default_factory=dict)
    keys: Mapping[TopicName, Decisions] = field(default_factory=dict)
    values: Mapping[TopicName, Decisions] = field(default_factory=dict)
    why: Reason | None = None

    @property
    def cause(self) -> str:
        """The reason `why` as a sentence, "" if ids are not left unchanged."""
        return str(self.why) if self.why is not None else ""

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedIds:
    """Schema ids without a decision, which the records of a partition wait for.

    Attributes:
        topic: The source topic.
        partition: The source partition.
        name: A name that the answer repeats.
        at: Since when, in ms since 1970.
        keys: Ids of keys.
        values: Ids of values.
    """

    kind: ClassVar[str] = "awaited_ids"

    link: LinkName
    topic: TopicName
    partition: int
    name: str
    at: int
    keys: tuple[WrittenId, ...]
    values: tuple[WrittenId, ...]

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedIds:
    """A negative answer to `AwaitedIds`: the partition must stop.

    Attributes:
        topic: The source topic.
        partition: The source partition.
        name: The name of the entry that this answers.
        why: Why there is no decision.
    """

    kind: ClassVar[str] = "refused_ids"

    link: LinkName
    topic: TopicName
    partition: int
    name: str
    at: int
    why: Reason

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def cause(self) -> str:
        """The reason `why` as a sentence, for people."""
        return str(self.why)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition)
