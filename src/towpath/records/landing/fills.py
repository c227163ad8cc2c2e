"""Filling of gaps at the head of lanes, in background threads.

Gaps are filled with markers, those of all partitions of one leader together. If the target refuses
our markers, each gap is filled by a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from towpath.cluster.admin import Admin
from towpath.cluster.admin.markers import refuses
from towpath.ledger.producers import transactional_id
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import Mode, SourceOffset, TargetOffset
from towpath.records.items import Fill
from towpath.records.jobs import ClientPool, Gathered, Jobs
from towpath.records.lane.lane import Lane
from towpath.records.target.filling import PartitionFiller
from towpath.records.target.marking import Due, ExhaustedIdsError, MarkerFiller, NotAloneError
from towpath.records.work import Slice


class Fills:
    """Fills the gaps of lanes."""

    def __init__(
        self,
        work: Slice,
        jobs: Jobs,
        target: Admin,
        clients: ClientPool,
        markers: MarkerFiller,
        *,
        on_filled: Callable[[Lane], None],
        on_failed: Callable[[Lane, TowpathError], None],
    ) -> None:
        self._work, self._jobs = work, jobs
        self._target, self._clients = target, clients
        self._on_filled, self._on_failed = on_filled, on_failed
        self._markers = markers
        self._gathered = Gathered(jobs, self._begin, self._judge)
        self._slow: set[Lane] = set()
        self._fillers: dict[Lane, PartitionFiller] = {}
        self._refusal: ClusterError | None = None

    def go(self, lane: Lane, node: int) -> None:
        """Do the due fill of a lane, if there is one, together with others on broker `node`."""
        fill = lane.fill_due
        if fill is None:
            return
        if self._refusal is not None or lane in self._fillers:
            self._do_without(lane)
            return
        # A lane that failed or is slow is filled alone, so that it delays no other.
        alone = lane.failures or lane in self._slow
        self._slow.discard(lane)
        self._gathered.add(lane, lane if alone else node)

    # Markers

    def _begin(self, lanes: Sequence[Lane]) -> Callable[[], Mapping[Lane, Due]]:
        dues = {lane: _due(lane) for lane in lanes}

        def work() -> Mapping[Lane, Due]:
            self._markers.fill(list(dues.values()))
            return dues

        return work

    def _judge(self, lane: Lane, due: Due | TowpathError) -> None:
        error = due.error if isinstance(due, Due) else due
        if isinstance(due, Due) and error is None:
            self._marked(lane, due)
        elif isinstance(error, ClusterError) and refuses(error):
            self._refusal = error
            self._do_without(lane)
        elif isinstance(error, ExhaustedIdsError | NotAloneError):
            self._do_without(lane)
        elif error is not None:
            self._on_failed(lane, error)

    def _marked(self, lane: Lane, due: Due) -> None:
        if due.reached > due.base:
            self._filled(lane, due.reached - due.base)
        else:
            self._slow.add(lane)
            self.go(lane, -1)

    def _do_without(self, lane: Lane) -> None:
        """Fill the gaps of a lane without markers from now on."""
        if lane.progress.mode is Mode.IDENTICAL:
            self._transact(lane)
        else:
            lane.level = False
            self._on_filled(lane)

    # Transactions

    def _transact(self, lane: Lane) -> None:
        fill = lane.fill_due
        if fill is None:
            return
        base, end = TargetOffset(_base(lane, fill)), TargetOffset(fill.end)
        filler = self._filler(lane)

        def work() -> None:
            with self._clients.one() as client:
                filler.fill(self._target, client, base, end)

        self._jobs.hold(
            lane,
            work,
            lambda _: self._transacted(lane, base, end),
            lambda error: self._on_failed(lane, error),
        )

    def _transacted(self, lane: Lane, base: TargetOffset, end: TargetOffset) -> None:
        lane.progress.transacted += end - base
        lane.filled(SourceOffset(end))  # only identical partitions are filled by transactions
        self._on_filled(lane)

    def _filled(self, lane: Lane, count: int) -> None:
        fill = lane.fill_due
        if fill is not None:
            lane.filled(min(fill.end, SourceOffset(_base(lane, fill) + count)))
            self._on_filled(lane)

    def _filler(self, lane: Lane) -> PartitionFiller:
        if lane not in self._fillers:
            tp, timeout = lane.work.target, self._work.target.request_timeout
            transactions = self._target.producers.transactions(
                transactional_id(self._work.link, tp)
            )
            self._fillers[lane] = PartitionFiller(tp, transactions, timeout, lane.work.compacted)
        return self._fillers[lane]


def _due(lane: Lane) -> Due:
    """Return the due fill of a lane, in target offsets."""
    fill = lane.next_fill
    assert fill is not None  # noqa: S101  # a busy lane's queue keeps its head
    source, mapped = _base(lane, fill), lane.progress.mode is Mode.MAPPED
    base = lane.progress.position.target if mapped else TargetOffset(source)
    end = TargetOffset(base + fill.end - source)
    return Due(
        tp=lane.work.target,
        first_id=lane.work.marker_id,
        base=base,
        end=end,
        opening=lane.openings,
        alone=mapped,
    )


def _base(lane: Lane, fill: Fill) -> SourceOffset:
    """Return the first source offset that is still to be filled."""
    if lane.progress.mode is Mode.MAPPED:
        return fill.base
    return max(fill.base, SourceOffset(lane.progress.position.target))
