"""Decisions during a run on the target's ids for schema ids (docs/decisions/0035).

Slices write which ids they wait for, and this looks at both registries at once, has missing schemas
registered, and writes what it knows. An id that stays unknown passes unchanged after `wait`, or the
partition stops if the file says `strict`. It stops, too, while a registry does not answer: a
decision holds for ever, so an outage must not lead to one (docs/decisions/0058). Nothing else
registers, so no id is registered twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from towpath.ledger.books.ids import IdBooks, SchemaName, read_id, written_ids
from towpath.ledger.entries import AwaitedIds, DecidedIds, RefusedIds
from towpath.ledger.keys import new_name
from towpath.model.changes import IdChange, SubjectStrategy
from towpath.model.nouns import LinkName, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.subjects import KEY, VALUE, has_ids, strategy_of
from towpath.runtime.backoff import BackOff
from towpath.runtime.clock import now_ms

_AGAIN = BackOff(first=0.5, longest=10.0)
"""Pauses between looks while nothing new is asked for."""
_SPARING, _LONGEST = 9.0, 30.0
"""Looks may take a tenth of the time, whatever slices ask, but none waits longer than this."""
_FAMILIAR = 8
"""Ids of no schema in one part of a topic after which a further one is not waited for: its bytes
are not written by serializers that register first."""
MOST = 10_000
"""Ids of no schema in one part of a topic after which its partitions stop."""
_NOT_OURS = frozenset({ReasonCode.SCHEMA_ID_ABSENT, ReasonCode.SCHEMA_ID_ELSEWHERE})
"""Reasons that say that records of the topic cannot mean a schema by this id."""

Changes = Callable[[TopicName], IdChange | None]
Why = Callable[[tuple[SubjectStrategy, TopicName, str], SchemaName], Reason]
_NOT_GIVEN = Reason.of(ReasonCode.SCHEMA_ID_NOT_GIVEN)


class AwaitedId(NamedTuple):
    """A schema id without a decision, for which records wait."""

    topic: TopicName
    part: str
    name: SchemaName

    def __str__(self) -> str:
        return f"id {self.name} in {self.part}s of {self.topic}"


@dataclass(slots=True)
class IdAnswers:
    """Answers slices that wait for schema ids. Pure but for names and times of entries.

    Args:
        link: The link.
        books: What the ledger knows.
        changes: Returns what happens to the ids of a topic.

    Attributes:
        why: Why ids that are waited for now are unknown, as far as that was looked at.
    """

    link: LinkName
    books: IdBooks
    changes: Changes
    why: dict[AwaitedId, Reason] = field(default_factory=dict)
    _stale: set[str] = field(default_factory=set)
    """Names of entries that need no answer: those of earlier runs, and those that are answered."""
    _since: dict[AwaitedId, float] = field(default_factory=dict)
    _asked: dict[AwaitedId, list[AwaitedIds]] = field(default_factory=dict)
    _looks: int = 0
    _looked: float = 0.0
    _free: float = 0.0
    """When a look for new ids may begin."""
    _again: float = 0.0
    """When the next look for the same ids may begin."""

    def begin(self) -> None:
        """Forget requests of earlier runs, as the slices of this run ask again."""
        self._stale = {each.name for each in self.books.awaited.values()}

    def look_is_due(self, now: float) -> bool:
        """Return whether waiting slices make it time to observe both registries."""
        self._asked = self._waiting()
        self._since = {each: self._since.get(each, now) for each in self._asked}
        self.why = {each: why for each, why in self.why.items() if each in self._asked}
        if not self._asked:
            self._looks = 0
            return False
        fresh = any(since >= self._looked for since in self._since.values())
        if fresh:
            self._looks = 0
        return now >= (self._free if fresh else self._again)

    def looked(self, began: float, ended: float, *, answered: bool = True) -> None:
        """Record an observation of both registries, after all possible registrations.

        Args:
            began: When the look began.
            ended: When it ended.
            answered: Whether the registries answered. Time in which they did not was spent waiting,
                so it is no reason to look more rarely.
        """
        self._looks += 1
        self._looked = began
        spent = ended - began if answered else 0.0
        self._free = ended + min(_LONGEST, _SPARING * spent)
        self._again = max(self._free, ended + _AGAIN.after(self._looks))

    def _waiting(self) -> dict[AwaitedId, list[AwaitedIds]]:
        found: defaultdict[AwaitedId, list[AwaitedIds]] = defaultdict(list)
        known: dict[tuple[TopicName, str], Collection[SchemaName]] = {}
        for entry in self.books.awaited.values():
            if entry.name in self._stale:
                continue
            for part, ids in ((KEY, entry.keys), (VALUE, entry.values)):
                change = self.changes(entry.topic) if ids else None
                if change is None or not has_ids(change, part):
                    continue
                if (entry.topic, part) not in known:
                    strategy = strategy_of(change, part)
                    decided = self.books.decisions(strategy, entry.topic, part)
                    known[entry.topic, part] = decided.keys()
                for each in map(read_id, ids):
                    if each not in known[entry.topic, part]:
                        found[AwaitedId(entry.topic, part, each)].append(entry)
        return dict(found)

    def guids(self, on_target: Callable[[UUID], UUID | None]) -> list[DecidedIds]:
        """Return decisions about awaited schema GUIDs that the target has.

        Args:
            on_target: Returns the GUID on the target of one at the source.
        """
        found: defaultdict[str, list[tuple[AwaitedId, UUID]]] = defaultdict(list)
        for each in self._waiting():
            change = self.changes(each.topic)
            registries = change is not None and strategy_of(change, each.part) is not None
            there = on_target(each.name) if isinstance(each.name, UUID) and registries else None
            if there is not None:
                found[each.part].append((each, there))
        return [self._decided(None, part, decided) for part, decided in found.items()]

    def due(self, now: float, why: Why) -> list[DecidedIds | RefusedIds]:
        """Return the answers for long-awaited ids, given the last observation.

        Args:
            now: The time.
            why: Returns why an id is unknown.
        """
        passing: defaultdict[tuple[Reason, str], list[AwaitedId]] = defaultdict(list)
        refused: dict[str, RefusedIds] = {}
        for each, entries in self._waiting().items():
            change = self.changes(each.topic)
            if change is None or self._since.get(each, now) > self._looked:
                continue  # asked for after the last look
            strategy = strategy_of(change, each.part)
            reason = _NOT_GIVEN
            if strategy is not None:
                reason = why((strategy, each.topic, each.part), each.name)
            self.why[each] = reason
            if not self._is_over(each, reason, change, now):
                continue
            count = len(self.books.topics.get((each.topic, each.part), ()))
            if count >= MOST and reason.code in _NOT_OURS:
                reason = Reason.of(ReasonCode.SCHEMA_IDS_TOO_MANY, part=each.part, count=count)
            elif not (change.strict or reason.code is ReasonCode.SCHEMAS_UNSEEN):
                passing[reason, each.part].append(each)
                continue
            for entry in entries:
                refused.setdefault(entry.name, self._refusal(entry, reason))
        self._stale |= refused.keys()
        made = [self._passing(reason, part, ids) for (reason, part), ids in passing.items()]
        return [*made, *refused.values()]

    def _is_over(self, each: AwaitedId, reason: Reason, change: IdChange, now: float) -> bool:
        if now - self._since.get(each, now) >= change.wait_ms / 1000:
            return True
        decided = self.books.topics.get((each.topic, each.part), {}).values()
        foreign = sum(d.why is not None and d.why.code in _NOT_OURS for d in decided)
        return reason.code in _NOT_OURS and foreign >= _FAMILIAR and not change.strict

    def _passing(self, why: Reason, part: str, ids: Iterable[AwaitedId]) -> DecidedIds:
        foreign = why.code in _NOT_OURS
        return self._decided(why, part, [(each, None if foreign else each.name) for each in ids])

    def _decided(
        self,
        why: Reason | None,
        part: str,
        decided: Iterable[tuple[AwaitedId, SchemaName | None]],
    ) -> DecidedIds:
        topics: defaultdict[TopicName, dict[SchemaName, SchemaName | None]] = defaultdict(dict)
        for each, becomes in decided:
            topics[each.topic][each.name] = becomes
        made = {topic: written_ids(ids) for topic, ids in topics.items()}
        return DecidedIds(
            link=self.link,
            name=new_name(),
            at=now_ms(),
            keys=made if part == KEY else {},
            values=made if part == VALUE else {},
            why=why,
        )

    def _refusal(self, entry: AwaitedIds, why: Reason) -> RefusedIds:
        return RefusedIds(
            link=self.link,
            topic=entry.topic,
            partition=entry.partition,
            name=entry.name,
            at=now_ms(),
            why=why,
        )

    @property
    def waiting(self) -> int:
        """Number of schema ids that slices wait for."""
        return len(self._asked)

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each id that slices wait for."""
        for each in sorted(self._asked, key=str):
            why = self.why.get(each)
            yield f"waiting for {each}: {why if why is not None else 'looking at the registries'}"
