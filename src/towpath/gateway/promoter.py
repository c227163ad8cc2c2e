"""The steps of a promotion, in a thread beside the connections.

Until the record of it is in the ledger everything is undone by itself, whatever fails. From then on
there is only the way forward, also for a gateway that begins after this one was killed.

1. look: what moves, and what forbids it
2. members come to a held join, and commit before; their offsets are written on the target
3. producers are held; what is on its way to the source is answered
4. the run of the link copies the rest, until both logs end at the same offset, twice
5. what the source holds of each producer is noted, in the record: the point of no return
6. the link does not copy the topics any more, and late writes of it are refused
7. held requests go to the target
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol, TypeVar

from towpath.cluster.metadata import Metadata, ProducerState
from towpath.gateway.book import GatewayBook
from towpath.gateway.closing import close_topics
from towpath.gateway.drains import Drains
from towpath.gateway.gathering import Gathering
from towpath.gateway.legs import BrokerConnection
from towpath.gateway.nodes import RelayedNodes
from towpath.gateway.own import FIRST_ID
from towpath.gateway.routes import Routes, coming
from towpath.gateway.scope import PromotionScope, first_of, lags, scope_of
from towpath.ledger.entries import (
    LastBatch,
    Promoted,
    PromotedPartition,
    PromotedTopic,
    Promotion,
    PromotionStage,
)
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import ConfigError, ConfigProblem, TowpathError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline

T = TypeVar("T")
_MEMBERS = 60.0
"""Seconds within which members must have come; they look every few seconds, and finish what they
have in hand."""
_NAP = 0.02
_BETWEEN = 0.05
"""Seconds between the two comparisons of log ends."""
_HEARD = 15.0
"""Seconds within which each member is heard of: clients tell of themselves every few seconds."""
_CLOSE_ENOUGH = 1000
"""Records by which the target may be behind when producers are held."""
_AGAIN = 1.0


class UndoneError(TowpathError):
    """A promotion cannot go on, and is undone."""


class PromotingGateway(Protocol):
    """The gateway, as far as promotions need it.

    Attributes:
        routes: What is held and promoted; of the loop alone.
        targets: The target's brokers.
        drains: Connections that may still write.
    """

    routes: Routes
    targets: RelayedNodes

    @property
    def drains(self) -> Drains:
        """Connections that may still write."""

    def wake(self) -> None:
        """Let requests that wait look again."""

    def show_target(self) -> tuple[ConfigProblem, ...]:
        """Listen for clients of the target's brokers."""


class Promoter:
    """Does promotions.

    Args:
        link: The link, opened for this object alone.
        book: What gateways keep in the ledger.
        gateway: The gateway.
        in_loop: Calls something in the loop of the connections; before that runs, at once.

    Attributes:
        in_loop: See above.
    """

    def __init__(
        self,
        link: OpenLink,
        book: GatewayBook,
        gateway: PromotingGateway,
        in_loop: Callable[[Callable[[], None]], object] = lambda what: what(),
    ) -> None:
        self._link, self._book, self._gateway, self.in_loop = link, book, gateway, in_loop
        self._signs = link.ledger.another()
        self._stray: dict[TopicPartition, int] = {}

    def call(self, what: Callable[[], T]) -> T:
        """Call something in the loop, and return what it returns."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(what())
            except Exception as error:  # noqa: BLE001  # of the caller, in another thread
                future.set_exception(error)

        self.in_loop(run)
        return future.result()

    def resume(self) -> list[str]:
        """Take in all that is promoted, and do what may be left of it; return troubles.

        Raises:
            TowpathError: A cluster does not answer.
        """
        records = [*self._book.promoted.values()]
        if not records:
            return []
        problems = self.call(self._gateway.show_target)
        if problems:
            raise ConfigError(problems)

        def take() -> None:
            for each in records:
                self._gateway.routes.promote(each)

        self.call(take)
        self._link.look()
        self.refresh()
        topics = [each.topic for record in records for each in record.topics]
        troubles = close_topics(self._link, topics)
        places = [
            TopicPartition(each.topic, part.partition)
            for record in records
            for each in record.topics
            for part in each.partitions
        ]
        known = self._link.target.producers.states(places)
        self.call(lambda: self._known(known))
        groups = self._link.source.groups.listed().groups
        moved = {group for record in records for group in record.groups}
        self.call(lambda: self.bound(frozenset(groups.keys() - moved)))
        return troubles

    def bound(self, others: frozenset[str]) -> None:
        """Take in which groups stay at the source; in the loop."""
        routes = self._gateway.routes
        copied = {tp.topic for tp, each in self._link.books.partitions.items() if each.opened}
        routes.of_source, routes.is_whole = others, copied <= routes.topics

    def _known(self, known: Mapping[TopicPartition, tuple[ProducerState, ...]]) -> None:
        table = self._gateway.routes.table
        for tp, states in known.items():
            for each in states:
                table.knows((tp.topic, tp.partition), each.id, each.epoch, each.last_sequence)

    def refresh(self) -> list[str]:
        """Look where the target has the promoted topics; return what the source got of them."""
        routes = self._gateway.routes
        topics = self.call(lambda: {*routes.topics})
        if not topics:
            return []
        self._see(self._link.target.topics.with_brokers(map(TopicName, topics)))
        return self._strays()

    def _strays(self) -> list[str]:
        """Name new records at the source of topics that were promoted."""
        ends = {
            TopicPartition(topic.topic, each.partition): each.end
            for record in self._book.promoted.values()
            for topic in record.topics
            for each in topic.partitions
        }
        now = self._link.source.offsets.log_ends(ends, patience=_AGAIN)
        found = []
        for tp, end in now.items():
            if end > self._stray.get(tp, ends[tp]):
                self._stray[tp] = end
                found.append(
                    f"{counted(end - ends[tp], 'record')} of {tp} came to the source after it was"
                    " promoted, by a client that does not use the gateway; they are not copied"
                )
        return found

    def _see(self, view: Metadata) -> None:
        def see() -> None:
            self._gateway.targets.learn(view.brokers.values())
            self._gateway.routes.view = view

        self.call(see)

    def promote(self, asked: Promotion) -> Promotion:
        """Do a promotion, or undo it; return what became of it."""
        routes = self._gateway.routes
        promoted = self.call(lambda: {*routes.topics})
        try:
            self._book.renew()
            scope = scope_of(self._link, self._signs, asked.topics, promoted)
            others = [
                f"another gateway serves clients: on {each.host}, pid {each.pid}; stop it"
                for each in self._book.others()
            ]
            forbidden = others + scope.forbidden
        except TowpathError as error:
            forbidden, scope = [str(error)], PromotionScope({})
        if asked.dry_run:
            told = first_of([*self._told(scope), *(f"not now: {each}" for each in forbidden)])
            return replace(asked, state=PromotionStage.TOLD.value, told=told)
        if forbidden:
            return replace(asked, state=PromotionStage.REFUSED.value, told=first_of(forbidden))
        self._book.note(replace(asked, state=PromotionStage.RUNNING.value))
        return self._tried(asked, scope)

    def _tried(self, asked: Promotion, scope: PromotionScope) -> Promotion:
        try:
            return _Attempt(self, asked, scope).go()
        except TowpathError as error:
            done = asked.name in self._book.promoted
            state = PromotionStage.PROMOTED if done else PromotionStage.UNDONE
            return replace(asked, state=state.value, told=(str(error),))
        finally:
            self.call(lambda: self._release(self._book.promoted.get(asked.name)))

    def _release(self, record: Promoted | None) -> None:
        """Let everything go on: at the target if it is promoted, as before if not."""
        routes = self._gateway.routes
        if record is not None and not routes.topics.issuperset(
            each.topic for each in record.topics
        ):
            return  # it is promoted, and not known here: nobody may write to the source any more
        if record is not None:
            routes.gathering = None  # the target does not know them, so they join anew
        routes.undo()
        self._gateway.wake()

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
        members = self._link.source.groups.members(scope.groups.values())
        found = {group.name: [each.id for each in part] for group, part in members.items()}
        away = self.call(lambda: coming(self._gateway.routes, found))
        for group, part in members.items():
            unseen = away.get(group.name, [])
            here = len(part) - len(unseen)
            yield f"{group}: {here} of {counted(len(part), 'member')} came through this gateway"
            yield from (
                f"{group}: {each} does not come through it" for each in part if each.id in unseen
            )


class _Attempt:
    """One attempt at a promotion."""

    def __init__(self, by: Promoter, asked: Promotion, scope: PromotionScope) -> None:
        self._by, self._asked, self._scope = by, asked, scope
        self._link, self._gateway, self._book = by._link, by._gateway, by._book  # noqa: SLF001
        self._routes = self._gateway.routes
        self._budget, self._hold = Deadline.after(_MEMBERS), _MEMBERS
        self._began = self._held = time.monotonic()

    def go(self) -> Promotion:
        """Do it.

        Raises:
            UndoneError: It cannot be done now; whoever calls lets everything go on as before.
            TowpathError: A cluster failed; likewise.
        """
        section = self._link.config.gateway
        assert section is not None  # noqa: S101  # a gateway runs
        problems = self._by.call(self._gateway.show_target)
        if problems:
            raise UndoneError("; ".join(each.text for each in problems))
        self._by._see(self._link.target.topics.with_brokers(self._scope.topics))  # noqa: SLF001
        self._near()
        self._present()
        self._began = time.monotonic()
        self._gather()
        offsets = self._offsets()
        self._held = time.monotonic()
        self._by.call(self._hold_producers)
        self._hold = float(section.hold)
        self._budget = Deadline.after(self._hold)
        self._drain()
        record = self._record(self._tail())
        if self._budget.over:
            raise UndoneError(self._late("the record could be written"))
        self._commit(record)
        self._by.call(lambda: self._promoted(record))
        freed = time.monotonic()
        # Members are held until the run of the link brings no older offsets any more.
        troubles = close_topics(self._link, [*self._scope.topics])
        troubles += self._check(offsets)
        now = time.monotonic()
        return replace(
            self._asked,
            state=PromotionStage.PROMOTED.value,
            told=first_of(troubles),
            held=round(1000 * (freed - self._held)),
            silent=round(1000 * (now - self._began)),
        )

    def _near(self) -> None:
        """Wait until the target is close behind."""
        patience = Deadline.after(_MEMBERS)
        while True:
            left = lags(*self._ends())
            if all(abs(each) <= _CLOSE_ENOUGH for each in left.values()):
                return
            if patience.over:
                tp, lag = max(left.items(), key=lambda each: each[1])
                raise UndoneError(f"the target lacks {counted(lag, 'record')} of {tp}")
            time.sleep(_AGAIN)

    def _present(self) -> None:
        """Wait until all members were heard of through this gateway; each looks every few seconds.

        Raises:
            UndoneError: One was not: it would go on at the source.
        """
        patience = Deadline.after(_HEARD)
        while away := self._away():
            if patience.over:
                group, names = next(iter(away.items()))
                some = f"{counted(len(names), 'member')} of group {group}, such as {names[0]},"
                raise UndoneError(f"{some} does not come through this gateway")
            time.sleep(_AGAIN / 2)

    def _away(self) -> dict[str, list[str]]:
        members = self._members()
        return self._by.call(lambda: coming(self._routes, members))

    def _gather(self) -> None:
        """Let members come to a held join, and hold their commits then."""
        scope = self._scope
        members = self._members()
        idle = {
            group: frozenset(name for name, assigned in part.items() if not assigned)
            for group, part in members.items()
        }
        gathering = Gathering(frozenset(group.name for group in scope.groups), idle)

        def begin() -> None:
            self._routes.gathering = gathering

        self._by.call(begin)
        patience = Deadline.after(_MEMBERS)
        while left := self._missing(gathering, members):
            if patience.over:
                group, names = next(iter(left.items()))
                raise UndoneError(
                    f"{counted(len(names), 'member')} of group {group} did not come, such as"
                    f" {names[0]}; do all clients use the gateway?"
                )
            time.sleep(_NAP * 5)
            members = self._members()

        def close() -> dict[BrokerConnection, int]:
            gathering.closed = True
            return self._gateway.drains.marks()

        self._until_drained(self._by.call(close), patience)

    def _missing(
        self, gathering: Gathering, members: Mapping[str, Iterable[str]]
    ) -> dict[str, list[str]]:
        return self._by.call(lambda: gathering.missing(members))

    def _members(self) -> dict[str, dict[str, bool]]:
        """Return the members of each group, and whether they have partitions."""
        found = self._link.source.groups.members(self._scope.groups.values())
        for group, error in found.failed.items():
            raise UndoneError(f"the members of {group} are unknown: {error}")
        return {
            group.name: {each.id: each.assigned for each in part} for group, part in found.items()
        }

    def _offsets(self) -> dict[ClientGroup, dict[TopicPartition, Commit]]:
        """Write the offsets of the groups on the target, and read them back."""
        found = self._link.source.groups.offsets(self._scope.groups)
        for group, error in found.failed.items():
            raise UndoneError(f"the offsets of {group} are unknown: {error}")
        wanted = {
            group: {tp: Commit(each.offset, each.metadata) for tp, each in commits.items()}
            for group, commits in found.items()
            if commits
        }
        self._write(wanted)
        left = self._differ(wanted)
        if left:
            raise UndoneError(f"the target has other offsets of {left[0]} than were written")
        return wanted

    def _write(self, wanted: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]) -> None:
        for group, done in self._link.target.groups.write(wanted).items():
            for tp, error in done.failed.items():
                raise UndoneError(f"the offset of {group} in {tp} is not written: {error}")

    def _differ(
        self, wanted: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]
    ) -> list[ClientGroup]:
        """Return the groups whose offsets on the target are others."""
        back = self._link.target.groups.offsets(wanted)
        return [
            group
            for group, commits in wanted.items()
            if any(
                group not in back or tp not in back[group] or back[group][tp].offset != each.offset
                for tp, each in commits.items()
            )
        ]

    def _check(self, wanted: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]) -> list[str]:
        """Write offsets once more that a sync of groups has set back meanwhile."""
        try:
            left = self._differ(wanted)
            self._write({group: wanted[group] for group in left})
        except TowpathError as error:
            return [f"the offsets of groups were written, but not looked at again: {error}"]
        return []

    def _hold_producers(self) -> None:
        self._routes.held = frozenset(self._scope.topics)

    def _drain(self) -> None:
        """Wait until all that went to the source is answered."""
        self._until_drained(self._by.call(self._gateway.drains.marks), self._budget)

    def _until_drained(self, marks: Mapping[BrokerConnection, int], patience: Deadline) -> None:
        while not self._by.call(lambda: self._gateway.drains.drained(marks)):
            if patience.over:
                raise UndoneError(self._late("the source had answered all"))
            time.sleep(_NAP / 4)

    def _late(self, what: str) -> str:
        return f"it was not done in time: {self._hold:g} s were over before {what}"

    def _ends(self) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        places = self._scope.partitions
        patience = max(_NAP, self._budget.left())
        source = self._link.source.offsets.log_ends(places, patience=patience)
        target = self._link.target.offsets.log_ends(places, patience=patience)
        for side, found in (("source", source), ("target", target)):
            for tp, error in found.failed.items():
                raise UndoneError(f"where {tp} ends on the {side} is unknown: {error}")
        return source, target

    def _tail(self) -> Mapping[TopicPartition, int]:
        """Wait until both logs end at the same offset, and still do after a moment."""
        first: Mapping[TopicPartition, int] = {}
        while True:
            source, target = self._ends()
            left = lags(source, target)
            if any(lag < 0 for lag in left.values()):
                tp = next(tp for tp, lag in left.items() if lag < 0)
                raise UndoneError(f"the target has more records of {tp} than the source")
            if first and source != first:
                raise UndoneError("somebody writes to the source who does not use the gateway")
            if first and not left:
                return source
            if self._budget.over:
                raise UndoneError(self._late(f"the target had all of {next(iter(left), '')}"))
            if not left:
                first = source
            time.sleep(_BETWEEN if first else _NAP)

    def _record(self, ends: Mapping[TopicPartition, int]) -> Promoted:
        """Return the record, with what the source holds of each producer."""
        scope = self._scope
        patience = max(_NAP, self._budget.left())
        found = self._link.source.producers.states(scope.partitions, patience=patience)
        for tp, error in found.failed.items():
            raise UndoneError(f"the producers of {tp} are unknown: {error}")
        for tp, states in found.items():
            if any(each.open_since >= 0 for each in states):
                raise UndoneError(f"a transaction has begun in {tp}")
        now = self._link.source.topics.describe(scope.topics)
        for name, info in scope.topics.items():
            same = name in now and (now[name].id, len(now[name].partitions))
            if same != (info.id, len(info.partitions)):
                raise UndoneError(f"topic {name} was changed at the source meanwhile")
        last = {
            tp: tuple(
                LastBatch(id=each.id, epoch=each.epoch, sequence=each.last_sequence)
                for each in states
                if each.id >= FIRST_ID and each.last_sequence >= 0
            )
            for tp, states in found.items()
        }
        return Promoted(
            link=self._link.name,
            name=self._asked.name,
            topics=tuple(
                PromotedTopic(
                    topic=name,
                    source_id=info.id,
                    target_id=scope.mirrors[name].id,
                    partitions=tuple(
                        PromotedPartition(
                            partition=each.partition, end=ends[tp], producers=last[tp]
                        )
                        for each in info.partitions
                        for tp in [TopicPartition(name, each.partition)]
                    ),
                )
                for name, info in scope.topics.items()
            ),
            groups=tuple(sorted(group.name for group in scope.groups)),
            at=now_ms(),
        )

    def _commit(self, record: Promoted) -> None:
        """Write the record; where no answer comes, find out what became of it.

        Everything stays held until that is known: nobody may decide it by time alone.
        """
        try:
            self._book.promote(record)
        except TowpathError:
            while True:
                try:
                    self._book.settle()
                except TowpathError:
                    time.sleep(_AGAIN)
                else:
                    break
            if record.name not in self._book.promoted:
                raise

    def _promoted(self, record: Promoted) -> None:
        routes = self._routes
        routes.promote(record)
        self._by.bound(self._scope.others)
        routes.held = frozenset()
        self._gateway.wake()
