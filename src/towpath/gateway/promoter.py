"""Promotions: what forbids them, one attempt at a time, and what is left to do after them.

The thread beside the connections does this; `attempt.py` has the steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from towpath.gateway.attempt import PromotionAttempt, UndoneError
from towpath.gateway.closing import close_topics
from towpath.gateway.forbidding import of_gateways
from towpath.gateway.routes import coming
from towpath.gateway.scope import PromotionScope, scope_of
from towpath.gateway.workplace import PromotionPlace
from towpath.ledger.entries import Promoted, Promotion, PromotionStage
from towpath.model.amounts import counted
from towpath.model.errors import ConfigError, TowpathError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms

_STRAYS = 10.0
"""Seconds after which the source is looked at again for records that came too late."""
_AGAIN = 1.0
_MEMORY_MS = 86_400_000
"""Kafka's default for how long a broker remembers a producer that writes nothing."""
_MOST = 20


class Promoter:
    """Does promotions.

    Args:
        at: What to work with.
    """

    def __init__(self, at: PromotionPlace) -> None:
        self._at = at
        self._stray: dict[TopicPartition, int] = {}
        self._looked = -_STRAYS
        self._open: list[TopicName] = []
        self._taken = set[str]()

    @property
    def is_behind(self) -> bool:
        """Whether topics are promoted of which the connections do not know.

        Another gateway promoted them, while this one was taken for dead.
        """
        return not self._taken.issuperset(self._at.book.promoted)

    def resume(self) -> list[Reason]:
        """Take in what is promoted, and do what may be left of it; return troubles.

        Raises:
            TowpathError: A cluster does not answer.
        """
        at, all_of_them = self._at, self._at.book.promoted
        records = [each for name, each in all_of_them.items() if name not in self._taken]
        if not records:
            return []
        problems = at.call(at.gateway.show_target)
        if problems:
            raise ConfigError(problems)

        def take() -> None:
            for each in records:
                at.gateway.routes.promote(each)

        at.call(take)
        at.link.look()
        topics = {each.topic for record in all_of_them.values() for each in record.topics}
        self._open = [*topics]
        at.see(at.link.target.topics.with_brokers(topics))
        troubles = self._close()
        self._learn(_places(records))
        groups = at.link.source.groups.listed().groups
        moved = {group for record in all_of_them.values() for group in record.groups}
        at.call(lambda: at.bound(frozenset(groups.keys() - moved)))
        self._taken.update(each.name for each in records)
        return troubles

    def refresh(self) -> list[Reason]:
        """Look at promoted topics again; return what somebody must see to.

        Raises:
            TowpathError: A cluster does not answer.
        """
        at, routes = self._at, self._at.gateway.routes
        topics = at.call(lambda: {*routes.topics})
        if not topics:
            return []
        at.see(at.link.target.topics.with_brokers(map(TopicName, topics)))
        early = at.call(lambda: {*routes.early})
        if early:
            self._learn(TopicPartition(TopicName(topic), number) for topic, number in early)
        troubles = self._close() if self._open else []
        if time.monotonic() - self._looked > _STRAYS:
            self._looked = time.monotonic()
            troubles += self._strays()
        return troubles

    def _close(self) -> list[Reason]:
        """End the mirroring of topics that may still be copied."""
        closed = close_topics(self._at.link, self._open)
        if not closed.again:
            self._open = []
        return closed.troubles

    def _learn(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask the target which producers it knows by now, so that it judges them itself.

        It may know some of which this gateway has not heard: they came through another one. And it
        forgets producers that write nothing for a time, as the source would have done.
        """
        places = {*partitions}
        known = self._at.link.target.producers.states(places)
        old = self._old()

        def learn() -> None:
            routes = self._at.gateway.routes
            for tp, states in known.items():
                place = tp.topic, tp.partition
                for each in states:
                    routes.table.knows(place, each.id, each.epoch, each.last_sequence)
                if tp in old:
                    routes.table.forget_all_but(place, {each.id for each in states})
            routes.early -= {(tp.topic, tp.partition) for tp in known}
            routes.early |= {(tp.topic, tp.partition) for tp in known.failed}
            self._at.gateway.wake()

        self._at.call(learn)

    def _old(self) -> set[TopicPartition]:
        """Return partitions whose promotion is older than what brokers remember of producers."""
        found = self._at.link.target.cluster.broker_config("producer.id.expiration.ms")
        before = now_ms() - int(found or _MEMORY_MS)
        return {*_places(each for each in self._at.book.promoted.values() if each.at < before)}

    def _strays(self) -> list[Reason]:
        """Name new records at the source of topics that were promoted."""
        ends = {
            TopicPartition(topic.topic, each.partition): each.end
            for record in self._at.book.promoted.values()
            for topic in record.topics
            for each in topic.partitions
        }
        now = self._at.link.source.offsets.log_ends(ends, patience=_AGAIN)
        found = []
        for tp, end in now.items():
            if end > self._stray.get(tp, ends[tp]):
                self._stray[tp] = end
                found.append(
                    Reason.of(ReasonCode.PROMOTE_STRAY, partition=str(tp), records=end - ends[tp])
                )
        return found

    def promote(self, asked: Promotion) -> Promotion | None:
        """Do a promotion, or undo it; return what became of it, `None` if it was withdrawn."""
        at, scope = self._at, PromotionScope({})
        try:
            at.book.renew()
            if not at.book.take(asked):
                return None
            routes = at.gateway.routes
            promoted, transacting = at.call(lambda: ({*routes.topics}, {*routes.transacting}))
            scope = scope_of(at.link, asked.topics, promoted, transacting)
            forbidden = [*of_gateways(at.book.others()), *scope.forbidden]
        except TowpathError as error:
            forbidden = [error.reason]
        if asked.dry_run:
            told = _first_of(self._told(scope))
            state = PromotionStage.TOLD.value
            return replace(asked, state=state, told=told, reasons=tuple(forbidden[:_MOST]))
        if forbidden:
            state = PromotionStage.REFUSED.value
            return replace(asked, state=state, reasons=tuple(forbidden[:_MOST]))
        return self._tried(asked, scope)

    def _tried(self, asked: Promotion, scope: PromotionScope) -> Promotion:
        try:
            return PromotionAttempt(self._at, asked, scope).go()
        except UndoneError as error:
            return self._failed(asked, error.why)
        except TowpathError as error:
            return self._failed(asked, error.reason)
        finally:
            record = self._at.book.promoted.get(asked.name)
            self._at.call(lambda: self._release(record))
            if record is not None:
                self._taken.add(record.name)
                self._open = [each.topic for each in record.topics]

    def _failed(self, asked: Promotion, why: Reason) -> Promotion:
        if asked.name not in self._at.book.promoted:
            return replace(asked, state=PromotionStage.UNDONE.value, reasons=(why,))
        return replace(asked, state=PromotionStage.PROMOTED.value, reasons=(why,))

    def _release(self, record: Promoted | None) -> None:
        """Let everything go on: at the target if it is promoted, as before if not."""
        routes = self._at.gateway.routes
        if record is not None:
            if not routes.topics.issuperset(each.topic for each in record.topics):
                routes.promote(record)
            routes.gathering = None  # the target does not know them, so they join anew
        routes.undo()
        self._at.gateway.wake()

    def _told(self, scope: PromotionScope) -> Iterator[str]:
        """Tell what a promotion would hold, and who is connected."""
        if not scope.topics:
            return
        yield (
            f"producers of {counted(len(scope.topics), 'topic')} with"
            f" {counted(len(scope.partitions), 'partition')} would be held:"
            f" {', '.join(sorted(scope.topics))}"
        )
        ids = {each.id for states in scope.producers.values() for each in states}
        yield f"{counted(len(ids), 'idempotent producer')} of this gateway wrote to them"
        members = self._at.link.source.groups.members(scope.groups.values())
        found = {group.name: [each.id for each in part] for group, part in members.items()}
        away = self._at.call(lambda: coming(self._at.gateway.routes, found))
        for group, part in members.items():
            unseen = away.get(group.name, [])
            here = len(part) - len(unseen)
            yield f"{group}: {here} of {counted(len(part), 'member')} came through this gateway"
            yield from (
                f"{group}: {each} does not come through it" for each in part if each.id in unseen
            )


def _places(records: Iterable[Promoted]) -> Iterator[TopicPartition]:
    for record in records:
        for each in record.topics:
            yield from (TopicPartition(each.topic, part.partition) for part in each.partitions)


def _first_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Return some of many sentences, and how many more there are."""
    every = [*lines]
    more = [f"and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return tuple(every[:_MOST] + more)
