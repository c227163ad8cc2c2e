"""The ledger's decisions about schema ids, and the records that wait for one. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from towpath.ledger.entries import AwaitedIds, DecidedIds, RefusedIds, Removed
from towpath.ledger.entries.ids import Decisions, WrittenId
from towpath.model.changes import SubjectStrategy
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.schemas import qualified
from towpath.model.subjects import GIVEN, KEY, VALUE, may_use

SchemaName = int | UUID
"""How a record names its schema: by a number, or by a UUID."""


class IdDecision(NamedTuple):
    """A decision: the id on the target that replaces a schema id of the source.

    Attributes:
        order: Counts the decisions in the order of the ledger; of several the first holds.
        becomes: The id on the target, the id itself if it passes unchanged, `None` if no schema has
            it that the records may use.
        why: Why it has no id of the target, `None` if it has one.
    """

    order: int
    becomes: SchemaName | None
    why: Reason | None = None


Scope = dict[SchemaName, IdDecision]


@dataclass(slots=True)
class IdBooks:
    """All decisions about schema ids of one link, and the ids that still wait for one.

    Attributes:
        subjects: Decisions by the subject at the source.
        topics: Decisions for one part of the records of a source topic.
        awaited: What partitions wait for, by source partition.
        refused: The last refusal of each source partition.
        revision: Changes with each decision.
    """

    subjects: dict[str, Scope] = field(default_factory=dict)
    topics: dict[tuple[TopicName, str], Scope] = field(default_factory=dict)
    awaited: dict[TopicPartition, AwaitedIds] = field(default_factory=dict)
    refused: dict[TopicPartition, RefusedIds] = field(default_factory=dict)
    revision: int = 0
    _count: int = 0
    _named: dict[str, list[Scope]] = field(default_factory=dict)
    """Decisions by the name of the subject without its context."""
    _all: Scope = field(default_factory=dict)
    """The first decision about each id under any subject."""

    def take(self, entry: DecidedIds | AwaitedIds | RefusedIds | Removed) -> None:
        """Add a ledger entry. Entries must come in the order of the ledger."""
        match entry:
            case AwaitedIds():
                self.awaited[entry.tp] = entry
            case RefusedIds():
                self.refused[entry.tp] = entry
            case Removed():
                topic, partition = entry.key
                self.awaited.pop(TopicPartition(TopicName(str(topic)), int(partition)), None)
            case DecidedIds():
                self._decide(entry)

    def _decide(self, entry: DecidedIds) -> None:
        self.revision += 1
        for subject, decisions in entry.subjects.items():
            if subject not in self.subjects:
                self.subjects[subject] = {}
                self._named.setdefault(qualified(subject).name, []).append(self.subjects[subject])
            self._add(self.subjects[subject], decisions, None)
            for name in map(read_id, dict(decisions) if subject != GIVEN else ()):
                self._all.setdefault(name, self.subjects[subject][name])
        for part, topics in ((KEY, entry.keys), (VALUE, entry.values)):
            for topic, decisions in topics.items():
                self._add(self.topics.setdefault((topic, part), {}), decisions, entry.why)

    def _add(self, scope: Scope, decisions: Decisions, why: Reason | None) -> None:
        for written, becomes in decisions:
            after = None if becomes is None else read_id(becomes)
            self._count += 1
            scope.setdefault(read_id(written), IdDecision(self._count, after, why))

    def decisions(
        self, strategy: SubjectStrategy | None, topic: TopicName, part: str
    ) -> dict[SchemaName, SchemaName | None]:
        """Return the target's ids for the schema ids in keys or values of a topic, by source id.

        Args:
            strategy: How the subjects of the topic are named, `None` if the file gives the ids.
            topic: The source topic.
            part: `key` or `value`.
        """
        found = self._found(strategy, topic, part)
        return {name: decision.becomes for name, decision in found.items()}

    def passing(
        self, strategy: SubjectStrategy | None, topic: TopicName, part: str
    ) -> dict[SchemaName, ReasonCode]:
        """Return schema ids that pass unchanged as the target has none, with reasons."""
        found = self._found(strategy, topic, part)
        return {name: each.why.code for name, each in found.items() if each.why is not None}

    def _found(self, strategy: SubjectStrategy | None, topic: TopicName, part: str) -> Scope:
        """Return the decisions about a part of the records of a topic; the first of each holds."""
        found: Scope = {}
        for scope in self._scopes(strategy, topic, part):
            for name, decision in scope.items():
                if name not in found or decision.order < found[name].order:
                    found[name] = decision
        return found

    def is_decided(
        self, strategy: SubjectStrategy | None, topic: TopicName, part: str, name: SchemaName
    ) -> bool:
        """Return whether there is a decision about a schema id in a topic's keys or values."""
        return any(name in scope for scope in self._scopes(strategy, topic, part))

    def first_of(self, name: SchemaName) -> SchemaName | None:
        """Return the target's id for a schema id, by the subject that was registered first."""
        found = self._all.get(name)
        return None if found is None else found.becomes

    def has_own(self, topic: TopicName, part: str) -> bool:
        """Return whether a topic's keys or values have decisions that no other topic shares."""
        return (topic, part) in self.topics

    def _scopes(
        self, strategy: SubjectStrategy | None, topic: TopicName, part: str
    ) -> Iterator[Scope]:
        match strategy:
            case None:
                yield self.subjects.get(GIVEN, {})
            case SubjectStrategy.RECORD:
                yield self._all
            case SubjectStrategy.TOPIC:
                yield from self._named.get(f"{topic}-{part}", ())
            case SubjectStrategy.TOPIC_RECORD:
                for name, scopes in self._named.items():
                    if may_use(strategy, topic, part, name):
                        yield from scopes
        if (topic, part) in self.topics:
            yield self.topics[topic, part]

    @property
    def passed(self) -> Counter[str]:
        """Number of schema ids that pass unchanged, by the code of the reason."""
        decisions = (each for scope in self.topics.values() for each in scope.values())
        return Counter(str(each.why.code) for each in decisions if each.why is not None)


def read_id(written: WrittenId) -> SchemaName:
    """Return the schema id that a ledger entry holds in its JSON form."""
    return UUID(written) if isinstance(written, str) else written


def written_id(name: SchemaName) -> WrittenId:
    """Return a schema id in the JSON form of ledger entries."""
    return str(name) if isinstance(name, UUID) else name


def written_ids(decided: Mapping[SchemaName, SchemaName | None]) -> Decisions:
    """Return decisions about schema ids in the JSON form of ledger entries."""
    return tuple(
        (written_id(name), None if becomes is None else written_id(becomes))
        for name, becomes in decided.items()
    )
