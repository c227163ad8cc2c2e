"""The steps of one promotion, in a thread beside the connections.

Until the record of it is in the ledger everything is undone by itself, whatever fails. From then on
there is only the way forward, also for a gateway that begins after this one was killed.

1. look whether all members of the groups came through this gateway
2. members come to a held join, and commit before; their offsets are written on the target
3. producers are held; what is on its way to the source is answered
4. the run of the link copies the rest, until both logs end at the same offset, twice
5. what the source holds of each producer is noted, in the record: the point of no return
6. the link does not copy the topics any more, and late writes of it are refused
7. held requests go to the target
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from towpath.cluster.metadata import Answers, ProducerState
from towpath.gateway.closing import close_topics
from towpath.gateway.forbidding import is_transactional, of_commits
from towpath.gateway.gathering import Gathering
from towpath.gateway.legs import BrokerConnection
from towpath.gateway.own import FIRST_ID
from towpath.gateway.routes import coming
from towpath.gateway.scope import PromotionScope, lags
from towpath.gateway.workplace import PromotionPlace
from towpath.ledger.entries import (
    LastBatch,
    Promoted,
    PromotedPartition,
    PromotedTopic,
    Promotion,
    PromotionStage,
)
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
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


class UndoneError(Exception):
    """A promotion cannot go on, and is undone; `why` says why."""

    def __init__(self, why: Reason) -> None:
        super().__init__(str(why))
        self.why = why


def _undone(code: ReasonCode, **values: int | str) -> UndoneError:
    return UndoneError(Reason.of(code, **values))


def _unknown(what: str, error: ClusterError) -> UndoneError:
    return _undone(ReasonCode.ERROR, error=error.code, text=f"{what} unknown: {error}")


class PromotionAttempt:
    """One attempt at a promotion.

    Args:
        at: What to work with.
        asked: The request.
        scope: What moves.
    """

    def __init__(self, at: PromotionPlace, asked: Promotion, scope: PromotionScope) -> None:
        self._at, self._asked, self._scope = at, asked, scope
        self._link, self._gateway, self._book = at.link, at.gateway, at.book
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
        problems = self._at.call(self._gateway.show_target)
        if problems:
            text = "; ".join(each.text for each in problems)
            raise _undone(ReasonCode.PROMOTE_LISTEN, text=text)
        promoted = self._at.call(lambda: {*map(TopicName, self._routes.topics)})
        self._at.see(self._link.target.topics.with_brokers({*self._scope.topics, *promoted}))
        self._near()
        self._present()
        self._began = time.monotonic()
        self._gather()
        offsets = self._offsets()
        self._held = time.monotonic()
        self._at.call(self._hold_producers)
        self._hold = float(section.hold)
        self._budget = Deadline.after(self._hold)
        self._drain()
        ends = self._tail()
        record = self._asked_in_time(lambda: self._record(ends))
        self._require_time("all was ready")
        self._commit(record)
        self._at.call(lambda: self._promoted(record))
        freed = time.monotonic()
        # Members are held until the run of the link brings no older offsets any more.
        closed = close_topics(self._link, [*self._scope.topics])
        troubles = closed.troubles + self._check(offsets)
        now = time.monotonic()
        return replace(
            self._asked,
            state=PromotionStage.PROMOTED.value,
            reasons=tuple(troubles),
            held=round(1000 * (freed - self._held)),
            silent=round(1000 * (now - self._began)),
        )

    def _require_time(self, what: str) -> None:
        """Raise unless producers may be held for longer.

        Raises:
            UndoneError: They were held for too long, or the gateway is stopped.
        """
        late = _undone(ReasonCode.PROMOTE_LATE, hold=f"{self._hold:g} s", what=what)
        self._require_patience(self._budget, late)

    def _require_patience(self, patience: Deadline, late: UndoneError) -> None:
        """Raise unless there is still time.

        Raises:
            UndoneError: There is none, or the gateway is stopped.
        """
        if self._at.stop.is_set():
            raise _undone(ReasonCode.PROMOTE_ENDED)
        if patience.over:
            raise late

    def _near(self) -> None:
        """Wait until the target is close behind."""
        patience = Deadline.after(_MEMBERS)
        while True:
            left = lags(*self._ends())
            if all(abs(each) <= _CLOSE_ENOUGH for each in left.values()):
                return
            tp, lag = max(left.items(), key=lambda each: abs(each[1]))
            late = _undone(ReasonCode.PROMOTE_BEHIND, partition=str(tp), records=lag)
            self._require_patience(patience, late)
            time.sleep(_AGAIN)

    def _present(self) -> None:
        """Wait until all members were heard of through this gateway; each looks every few seconds.

        Raises:
            UndoneError: One was not: it would go on at the source.
        """
        patience = Deadline.after(_HEARD)
        while away := self._away():
            late = _missed(ReasonCode.PROMOTE_MEMBERS_DIRECT, away)
            self._require_patience(patience, late)
            time.sleep(_AGAIN / 2)

    def _away(self) -> dict[str, list[str]]:
        members = self._members()
        return self._at.call(lambda: coming(self._routes, members))

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

        self._at.call(begin)
        patience = Deadline.after(_MEMBERS)
        while left := self._missing(gathering, members):
            late = _missed(ReasonCode.PROMOTE_MEMBERS_LATE, left)
            self._require_patience(patience, late)
            time.sleep(_NAP * 5)
            members = self._members()

        def close() -> dict[BrokerConnection, int]:
            gathering.closed = True
            return self._gateway.drains.marks()

        self._until_drained(self._at.call(close), _MEMBERS, patience)

    def _missing(
        self, gathering: Gathering, members: Mapping[str, Iterable[str]]
    ) -> dict[str, list[str]]:
        return self._at.call(lambda: gathering.missing(members))

    def _members(self) -> dict[str, dict[str, bool]]:
        """Return the members of each group, and whether they have partitions."""
        found = self._link.source.groups.members(self._scope.groups.values())
        for group, error in found.failed.items():
            raise _unknown(f"the members of {group} are", error)
        return {
            group.name: {each.id: each.assigned for each in part} for group, part in found.items()
        }

    def _offsets(self) -> dict[ClientGroup, dict[TopicPartition, Commit]]:
        """Write the offsets of the groups on the target, and read them back."""
        found = self._link.source.groups.offsets(self._scope.groups, telling=True)
        for group, error in found.failed.items():
            raise _unknown(f"the offsets of {group} are", error)
        for why in of_commits(found):
            raise UndoneError(why)
        wanted = {
            group: {tp: Commit(each.offset, each.metadata) for tp, each in commits.items()}
            for group, commits in found.items()
            if commits
        }
        self._write(wanted)
        left = self._differ(wanted)
        if left:
            raise _undone(ReasonCode.PROMOTE_OFFSETS, group=str(left[0]))
        return wanted

    def _write(self, wanted: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]) -> None:
        for group, done in self._link.target.groups.write(wanted).items():
            for tp, error in done.failed.items():
                raise _unknown(f"whether the offset of {group} in {tp} is written is", error)

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

    def _check(self, wanted: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]) -> list[Reason]:
        """Write offsets once more that a sync of groups has set back meanwhile."""
        try:
            left = self._differ(wanted)
            self._write({group: wanted[group] for group in left})
        except UndoneError as error:
            return [error.why]
        except TowpathError as error:
            return [error.reason]
        return []

    def _hold_producers(self) -> None:
        self._routes.held = frozenset(self._scope.topics)

    def _drain(self) -> None:
        """Wait until all that went to the source is answered."""
        self._until_drained(self._at.call(self._gateway.drains.marks), self._hold, self._budget)

    def _until_drained(
        self, marks: Mapping[BrokerConnection, int], seconds: float, patience: Deadline
    ) -> None:
        what = "the source had answered all that was sent to it"
        late = _undone(ReasonCode.PROMOTE_LATE, hold=f"{seconds:g} s", what=what)
        while not self._at.call(lambda: self._gateway.drains.drained(marks)):
            self._require_patience(patience, late)
            time.sleep(_NAP / 4)

    def _ends(self) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        """Return where the logs end: all at the source, on the target what it cannot lose.

        The source's leaders are asked under the leader epochs of now, so one that was replaced and
        does not know it refuses. What followers of the target lack is not there yet.
        """
        places = self._scope.partitions
        patience = max(_NAP, self._budget.left())
        source = self._link.source.offsets.log_ends(places, patience=patience)
        target = self._link.target.offsets.latest(places, patience=patience)
        for side, found in (("source", source), ("target", target)):
            for tp, error in found.failed.items():
                self._require_time(f"the {side} had told where {tp} ends")
                raise _unknown(f"where {tp} ends on the {side} is", error)
        return source, target

    def _tail(self) -> Mapping[TopicPartition, int]:
        """Wait until both logs end at the same offset, and still do after a moment."""
        first: Mapping[TopicPartition, int] = {}
        while True:
            self._require_time("both clusters had told where the logs end")
            source, target = self._asked_in_time(self._ends)
            left = lags(source, target)
            for tp, lag in left.items():
                if lag < 0:
                    raise _undone(ReasonCode.PROMOTE_AHEAD, partition=str(tp), records=-lag)
            for tp, end in first.items():
                if source[tp] != end:
                    raise _undone(ReasonCode.PROMOTE_WRITTEN, partition=str(tp))
            if first and not left:
                return source
            if left:
                self._require_time(f"the target had all of {next(iter(left))}")
            if not left:
                first = source
            time.sleep(_BETWEEN if first else _NAP)

    def _asked_in_time(self, ask: Callable[[], T]) -> T:
        """Return an answer; where none came as producers were held for too long, say that.

        Raises:
            UndoneError: They were.
            ClusterError: The cluster did not answer for another reason.
        """
        try:
            return ask()
        except ClusterError:
            self._require_time("the clusters had answered")
            raise

    def _record(self, ends: Mapping[TopicPartition, int]) -> Promoted:
        """Return the record, with what the source holds of each producer."""
        scope = self._scope
        patience = max(_NAP, self._budget.left())
        found = self._link.source.producers.states(scope.partitions, patience=patience)
        for tp, error in found.failed.items():
            self._require_time(f"the source had told the producers of {tp}")
            raise _unknown(f"the producers of {tp} are", error)
        _require_no_transactions(found)
        now = self._link.source.topics.describe(scope.topics)
        for name, info in scope.topics.items():
            same = name in now and (now[name].id, len(now[name].partitions))
            if same != (info.id, len(info.partitions)):
                about, what = f"topic {name}", "been made again or grown at the source meanwhile"
                raise _undone(ReasonCode.PROMOTE_NOT_SAME, about=about, what=what)
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
        self._at.bound(self._scope.others)
        routes.held = frozenset()
        self._gateway.wake()


def _missed(code: ReasonCode, away: Mapping[str, Iterable[str]]) -> UndoneError:
    group, found = next(iter(away.items()))
    names = [*found]
    return _undone(code, group=group, count=len(names), member=names[0])


def _require_no_transactions(found: Answers[TopicPartition, tuple[ProducerState, ...]]) -> None:
    """Raise if somebody began to write in transactions meanwhile.

    Raises:
        UndoneError: The marker that ends one would come to the source alone.
    """
    for tp, states in found.items():
        for each in states:
            if is_transactional(each, {}):
                who, where = f"of producer id {each.id}", f"wrote to {tp} meanwhile"
                raise _undone(ReasonCode.PROMOTE_TRANSACTIONS, who=who, where=where)
