"""Atomic commits of a batch, exactly once, also if the driver is killed.

Each task writes in a transaction of its own and leaves it open. When all tasks are done, the driver
writes its decision in a transaction too: the number of the batch and the transactions that belong
to it, as the commit of a consumer group that nobody else uses. Then it commits the transactions of
the tasks, and writes that this was done. Whoever starts the query again first fences the driver
before, reads the last decision, and completes it. So a batch that is played again is known.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups.asking import Commits
from towpath.cluster.admin.transactions import ProducerEpoch, Transactions
from towpath.cluster.connect.control import may_pass
from towpath.cluster.connect.retrying import retried
from towpath.dataframes.errors import LateCommitError, TornBatchError
from towpath.dataframes.query_warnings import tell
from towpath.dataframes.sink.messages import DriverTurn, TaskWritten
from towpath.dataframes.sink.options import SinkOptions
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicPartition
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

T = TypeVar("T")

_PIECE = 3000
"""Characters of a decision in one commit: brokers take 4096 (`offset.metadata.max.bytes`)."""
_LANES = 8
_AGAIN = BackOff(first=0.02, longest=0.5)
_PATIENCE = 60.0
"""Seconds for what a driver asks of the cluster."""


@dataclass(frozen=True, slots=True)
class TaskPart:
    """A task's transaction, as part of a batch.

    Attributes:
        task: The number of the task.
        who: Its producer.
        records: How many records it has.
    """

    task: int
    who: ProducerEpoch
    records: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The latest decision of a sink to commit a micro-batch, with its transactions.

    Attributes:
        number: How many decisions there were before.
        query: The id of the query.
        batch: The number of its micro-batch.
        parts: The transactions that are to be committed; none once that was done.
    """

    number: int = -1
    query: str = ""
    batch: int = -1
    parts: tuple[TaskPart, ...] = ()

    def text(self) -> str:
        """The decision as text."""
        parts = [(p.task, p.who.producer_id, p.who.epoch, p.records) for p in self.parts]
        packed = zlib.compress(json.dumps([self.query, self.batch, parts]).encode())
        return base64.b85encode(packed).decode()

    @classmethod
    def read(cls, number: int, text: str) -> Decision:
        """Parse the text of a decision."""
        query, batch, parts = json.loads(zlib.decompress(base64.b85decode(text)))
        made = (TaskPart(task, ProducerEpoch(*who), count) for task, *who, count in parts)
        return cls(number, query, batch, tuple(made))


def task_id(name: str, task: int) -> str:
    """Return the transactional id of a task."""
    return f"{name}-{task}"


class Committer:
    """The driver's part in the transactions of a sink.

    Args:
        admin: The cluster.
        options: What is written.
        name: How the transactional ids begin: that of the driver is the name alone.
    """

    def __init__(self, admin: Admin, options: SinkOptions, name: str) -> None:
        self._admin, self._options, self._name = admin, options, name
        self._driver = admin.producers.transactions(name)

    def begin(self) -> tuple[DriverTurn, Decision]:
        """Fence earlier drivers, and complete their last decision; return it with the turn.

        Raises:
            ClusterError: The cluster refused it, or did not answer.
            TornBatchError: The brokers dropped what was decided.
        """
        who = self._driver.fence(_deadline())
        last, at = self.last()
        if last.parts and at is not None:
            try:
                self._commit(last.batch, last.parts)
            except TornBatchError as error:
                if self._options.fails:
                    raise
                tell(f"{error}; it goes on")
            self._write(who, at, Decision(last.number + 1, last.query, last.batch))
            return DriverTurn(who, last.number + 1, at), last
        return DriverTurn(who, last.number, at), last

    def last(self) -> tuple[Decision, TopicPartition | None]:
        """Return the last decision, and the partition with whose commit it is kept."""
        first = self._commits(self._name)
        if not first:
            return Decision(), None
        tp, commit = max(first.items(), key=lambda item: item[1].offset)
        count, _, text = commit.metadata.partition(" ")
        for piece in range(1, int(count)):
            more = self._commits(f"{self._name}-part-{piece}")
            text += more[tp].metadata
        return Decision.read(commit.offset, text), tp

    def decide(self, written: Sequence[TaskWritten], batch: int) -> None:
        """Commit a batch of a stream.

        Raises:
            ClusterError: The cluster refused it, or did not answer.
            LateCommitError: A transaction has ended before; nothing is written.
            TornBatchError: A transaction was aborted since the decision.
        """
        parts = _parts(written)
        if not parts:
            return
        first = next(each for each in written if each.written)
        turn, query = first.driver, first.place.query
        assert turn is not None  # noqa: S101, else there were no transactions
        at = turn.at or min(each.tp for task in written for each in task.written)
        self._require_open(written)
        self._write(turn.who, at, Decision(turn.number + 1, query, batch, parts))
        self._commit(batch, parts)
        self._write(turn.who, at, Decision(turn.number + 2, query, batch))

    def commit_all(self, written: Sequence[TaskWritten]) -> None:
        """Commit the transactions of a batch outside of a stream.

        Raises:
            ClusterError: The cluster refused it, or did not answer.
            LateCommitError: A transaction has ended before; nothing is written.
            TornBatchError: A transaction was aborted meanwhile.
        """
        self._require_open(written)
        self._commit(0, _parts(written))

    def abort_all(self, tasks: int) -> None:
        """Abort the open transactions of a batch that has transactional ids of its own."""

        def one(task: int) -> None:
            self._of(task).fence(_deadline())

        _each(one, range(tasks))

    def abort(self, written: Sequence[TaskWritten]) -> None:
        """Abort the open transactions of a micro-batch; the next driver aborts the rest.

        It fences nobody: a driver that has begun meanwhile may run the same tasks.
        """

        def one(part: TaskPart) -> None:
            with suppress(ClusterError):
                self._of(part.task).end(part.who, _deadline(), commit=False)

        _each(one, _parts(written))

    def _of(self, task: int) -> Transactions:
        name = task_id(self._name, task)
        return self._admin.producers.transactions(name, self._options.timeout)

    def _commits(self, group: str) -> dict[TopicPartition, Commit]:
        wanted = ClientGroup(group)

        def once() -> Commits:
            return self._admin.groups.offsets([wanted], stable=lambda _: True).sure(wanted)

        # The end of a transaction reaches its group a moment after the answer.
        found = retried(once, _deadline(), _AGAIN, may_pass)
        return {tp: commit for tp, commit in found.items() if commit.offset >= 0}

    def _write(self, who: ProducerEpoch, at: TopicPartition, decision: Decision) -> None:
        """Keep a decision, all of it or nothing."""
        text, deadline = decision.text(), _deadline()
        pieces = [text[begin : begin + _PIECE] for begin in range(0, len(text), _PIECE)]
        for number, piece in enumerate(pieces[1:], 1):
            group = f"{self._name}-part-{number}"
            commit = Commit(decision.number, piece)
            self._driver.commit_offset(who, group, at, commit, deadline)
        commit = Commit(decision.number, f"{len(pieces)} {pieces[0]}")
        self._driver.commit_offset(who, self._name, at, commit, deadline)
        self._driver.end(who, deadline, commit=True)

    def _require_open(self, written: Iterable[TaskWritten]) -> None:
        """Raise if a transaction has ended: to add what it has already asks just that."""

        def one(task: TaskWritten) -> None:
            if task.who is None or not task.written:
                return
            try:
                tps = [task.written[0].tp]
                self._of(task.place.task).add(task.who, tps, _deadline())
            except RefusedError as error:
                if error.retriable:
                    raise
                raise LateCommitError(task.place.task, self._options.timeout, error.name) from error

        _each(one, written)

    def _commit(self, batch: int, parts: Sequence[TaskPart]) -> None:
        lost: list[tuple[TaskPart, RefusedError]] = []

        def one(part: TaskPart) -> None:
            try:
                self._of(part.task).end(part.who, _deadline(), commit=True)
            except RefusedError as error:
                if error.retriable:
                    raise
                lost.append((part, error))

        _each(one, parts)
        if lost:
            tasks = tuple(sorted(part.task for part, _ in lost))
            records = sum(part.records for part, _ in lost)
            raise TornBatchError(batch, tasks, records, lost[0][1].name)


def _parts(written: Iterable[TaskWritten]) -> tuple[TaskPart, ...]:
    return tuple(
        TaskPart(each.place.task, each.who, each.records)
        for each in written
        if each.who is not None and each.written
    )


def _each(work: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Do the same for all, some at the same time; raises the first error once all are done."""
    with ThreadPoolExecutor(_LANES) as pool:
        for done in [pool.submit(work, item) for item in items]:
            done.result()


def _deadline() -> Deadline:
    return Deadline.after(_PATIENCE)
