"""The check of records between the expected and the actual offset of an appended batch.

Other writers may write to a mirror topic; then the partition becomes mapped. But a copier that was
frozen may also have written our records again, after the producer state had expired.
"""

from __future__ import annotations

from collections.abc import Callable

from towpath.ledger.producers import generations
from towpath.model.errors import DoubledError, TargetLostError, TowpathError
from towpath.model.nouns import TargetOffset
from towpath.records.jobs import ClientPool, Jobs
from towpath.records.lane.lane import Lane
from towpath.records.target.written import Surplus, surplus


class Doubles:
    """Acknowledges appended batches, and checks for doubled records of the link."""

    def __init__(
        self,
        jobs: Jobs,
        clients: ClientPool,
        *,
        on_landed: Callable[[Lane], None],
        on_wrong: Callable[[Lane, TowpathError], None],
        on_failed: Callable[[Lane, TowpathError], None],
    ) -> None:
        self._jobs, self._clients = jobs, clients
        self._on_landed, self._on_wrong, self._on_failed = on_landed, on_wrong, on_failed

    def landed(self, lane: Lane, base_offset: TargetOffset) -> None:
        """Handle the answer that the next batch in flight was appended at `base_offset`."""
        lane.bases.append(base_offset)
        if not lane.busy:
            self._acknowledge(lane)

    def _acknowledge(self, lane: Lane) -> None:
        while lane.bases:
            base = lane.bases[0]
            ahead = lane.ahead(base)
            if ahead < 0:
                target = str(lane.work.target)
                self._on_wrong(lane, TargetLostError(target, base - ahead, base, "offset"))
                return
            if ahead > 0 and base - ahead < lane.looked_to:
                ahead = base - lane.looked_to
            if ahead > 0:
                self._look(lane, TargetOffset(base - ahead), base)
                return
            lane.bases.pop(0)
            lane.acknowledge(base)
        self._on_landed(lane)

    def _look(self, lane: Lane, first: TargetOffset, end: TargetOffset) -> None:
        """Look for our records at target offsets [first, end)."""
        tp, own = lane.work.target, generations(lane.work.producer_id, *lane.work.earlier)

        def work() -> Surplus | None:
            with self._clients.one() as client:
                return surplus(client, tp, first, end, own)

        self._jobs.hold(
            lane,
            work,
            lambda found: self._looked(lane, found, end),
            lambda error: self._on_failed(lane, error),
        )

    def _looked(self, lane: Lane, found: Surplus | None, end: TargetOffset) -> None:
        if found is not None:
            tp = str(lane.work.target)
            self._on_wrong(lane, DoubledError(tp, found.first, found.end, found.records))
            return
        lane.looked_to = end
        self._acknowledge(lane)
