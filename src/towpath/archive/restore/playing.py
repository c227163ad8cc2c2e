"""The rounds of a restore on Spark: plan slices, run them, and plan again.

A round ends when its slices have restored or stopped all of their partitions. Slices end earlier
where they have not heard of the driver for a while, as after a pause of this process: then the next
round goes on where they stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from towpath.archive.restore.applying import release
from towpath.archive.restore.jobs import SliceJob
from towpath.archive.restore.progress import RestorePhase, standing_still
from towpath.archive.restore.rounds import RoundTerms, plan_slices
from towpath.archive.restore.state import RestoreState
from towpath.engine.failure import of_spark
from towpath.engine.slots import slots
from towpath.ledger.events import What
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicPartition
from towpath.records.permit import TAKEOVER
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

_LOOK = 1.0
_DRAIN = 30.0
_FAILURES = 5
_IDLE = 3
"""Rounds in a row in which nothing moved, and nobody said why, after which the restore ends."""
_AGAIN = BackOff(first=2.0, longest=30.0)


class RoundPlayer:
    """Runs rounds until the restore is complete or cannot continue.

    Args:
        state: The restore.
        spark: The Spark session.
        parallelism: How many slices run at a time; by default as many as Spark can run.
    """

    def __init__(self, state: RestoreState, spark: Any, parallelism: int | None) -> None:
        self._state, self._spark, self._parallelism = state, spark, parallelism
        self._failures = self._idle = 0
        self._reached = -1

    def play(self, number: int) -> bool:
        """Run the slices of a round; return whether the restore is finished.

        Args:
            number: The number of the round.

        Raises:
            ClusterError: The target could not be asked.
            LinkBusyError: Another run has taken over.
            TowpathError: Slices failed too often in a row.
        """
        state, session = self._state, self._state.session
        state.to.read()
        terms = self._terms(number)
        target, books = state.to.target, state.to.books
        slices = plan_slices(state.task, state.scope, target, books, terms)
        if not slices:
            session.settled.ended(number, settled=terms.settled)
            self._await_topics()
            return True
        try:
            self._ended(number, self._attend(number, SliceJob(self._spark, slices)))
        except RuntimeError as error:
            self._failed(error, number)
            return False
        return self._is_over()

    def _terms(self, number: int) -> RoundTerms:
        state = self._state
        return RoundTerms(
            run_id=state.session.run_id,
            number=number,
            parallelism=state.beside.share(slots(self._spark, self._parallelism)),
            settled=state.session.settled.begin(number),
            fill=state.planned.fill,
            besides=state.follower.young if state.follower is not None else frozenset(),
        )

    def _is_over(self) -> bool:
        """Whether nothing is left to do, or several rounds did nothing of it."""
        state = self._state
        state.look()
        rows = state.progress.rows
        if state.follower is not None or not standing_still(rows, state.unopened):
            return True
        reached = sum(row.at for row in rows)
        self._idle = 0 if reached > self._reached else self._idle + 1
        self._reached = reached
        return self._idle >= _IDLE

    # What is archived meanwhile

    def _await_topics(self) -> None:
        """Wait until there is anything to restore, if the archive is followed."""
        state = self._state
        while state.follower is not None and not state.stop.wait(self._pause):
            if self._takes_in():
                return
            state.look()

    def _takes_in(self) -> bool:
        """Take in what was archived meanwhile; return whether slices must be planned anew."""
        state, follower = self._state, self._state.follower
        if follower is None:
            return False
        is_other = follower.take_in()
        state.scope, state.progress.heard = follower.scope, (follower.heard,)
        caught_up = follower.caught_up()
        if caught_up:
            with suppress(ClusterError):  # a later look tries again
                applied, _ = release(state.planned.restorer, caught_up, state.held.require)
                follower.released(caught_up)
                # Slices must know of compaction, which begins with it.
                is_other = is_other or bool(applied.done)
        return is_other

    @property
    def _pause(self) -> float:
        """Seconds between two looks."""
        state = self._state
        look = float(state.task.rules.follow.look)
        return min(_LOOK, look) if state.follower is not None else _LOOK

    # The slices of a round

    def _attend(self, number: int, job: SliceJob) -> pa.Table:
        """Show the progress of a job until it has ended; return its rows."""
        state, session = self._state, self._state.session
        job.start()
        drained: Deadline | None = None
        is_over = False
        while not job.wait(self._pause):
            if session.taken_over is not None:
                job.cancel.set()
                raise session.taken_over
            if state.stop.is_set() and drained is None:
                drained = Deadline.after(_DRAIN)
                self._drain()
            if drained is not None and drained.over:
                job.cancel.set()
            state.look()
            if not is_over and drained is None and self._takes_in():
                with suppress(ClusterError):  # then the next look ends the round
                    session.end_round(number)
                    is_over = True
        return job.result()

    def _drain(self) -> None:
        self._state.enter(RestorePhase.DRAINING)
        with suppress(ClusterError):
            self._state.session.end()

    def _ended(self, number: int, rows: pa.Table) -> None:
        """Take what the slices of a round told."""
        state, session = self._state, self._state.session
        ended: Sequence[dict[str, Any]] = rows.to_pylist()
        under_way = any(row["under_way"] for row in ended)
        repeated = session.was_repeated(number)
        session.settled.ended(number, settled=not (under_way or repeated))
        state.unopened = {
            TopicPartition(row["topic"], row["partition"]): row["error"]
            for row in ended
            if row["error"]
        }
        state.progress.take_trouble()
        self._failures = 0

    def _failed(self, error: RuntimeError, number: int) -> None:
        """Raise after too many failures in a row; otherwise wait before the next round."""
        state, session = self._state, self._state.session
        session.settled.failed()
        if state.stop.is_set():
            return
        self._failures += 1
        said = of_spark(error)
        if self._failures > _FAILURES:
            raise said from error
        with suppress(ClusterError):
            session.end_round(number)
        state.progress.take_trouble(str(said), said.reason.codes)
        state.to.events.tell(What.ROUND_FAILED, number=number, error=str(said), code=said.code)
        state.show(state.progress)
        # Slices of the failed round may go on until they have read that it ended.
        state.stop.wait(max(TAKEOVER, _AGAIN.after(self._failures)))
