"""Writing of a slice's records to the quarantine topic. Blocking and thread-safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from towpath.cluster.admin import Admin
from towpath.ledger.quarantine import writer
from towpath.ledger.quarantine.format import QuarantinedRecord, QuarantineKey
from towpath.model.errors import ClusterError, NotSetAsideError, RefusedError
from towpath.model.nouns import LinkName, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.jobs import ClientPool
from towpath.records.work import Assignment
from towpath.runtime.clock import now_ms
from towpath.wire import plain

if TYPE_CHECKING:
    from towpath.wire.change import Aside

WhyOf = Callable[[plain.Record], Reason]
"""Returns why a record is set aside."""


class SliceQuarantine:
    """The quarantine writer of one slice.

    Args:
        link: The link.
        target: Creates the topic when the first record is set aside.
        clients: Write to it.
    """

    def __init__(self, link: LinkName, target: Admin, clients: ClientPool) -> None:
        self._link, self._target, self._clients = link, target, clients
        self._ready = False

    def take(self, a: Assignment, records: Sequence[Aside]) -> Callable[[], bool]:
        """Return a function that writes records which cannot be changed to the quarantine.

        Returns:
            Writes them, and returns whether all of them are durable. A record may come again after
            a crash.
        """
        codes = {each.offset: each.code for each in records}

        def why(record: plain.Record) -> Reason:
            offset = record.offset
            return Reason.of(ReasonCode.RECORD_BAD, offset=offset, bad=str(codes[offset]))

        def write() -> bool:
            self.put(
                a,
                [
                    plain.record_of(each.record, timestamp=each.timestamp, offset=each.offset)
                    for each in records
                ],
                why,
            )
            return True

        return write

    def put(
        self, a: Assignment, records: Sequence[plain.Record], why: WhyOf, change: str = ""
    ) -> None:
        """Write records with their source offsets; all are durable on return.

        Args:
            a: Their partition.
            records: The records.
            why: Why each is set aside.
            change: The digest of the change that was made to them already.

        Raises:
            NotSetAsideError: The target refuses a record, or does not answer; it may have some.
        """
        tp, at = a.source, now_ms()
        made = [
            QuarantinedRecord(
                key=QuarantineKey(
                    self._link, tp.topic, tp.partition, SourceOffset(each.offset), a.producer_id
                ),
                why=why(each),
                at=at,
                record=each,
                change=change,
            )
            for each in records
        ]
        try:
            self._write(made)
        except ClusterError as error:
            self._ready = False  # the topic may have been deleted
            places = error.records if isinstance(error, RefusedError) else ()
            raise NotSetAsideError(records[min(places, default=0)].offset, error) from error

    def _write(self, records: Sequence[QuarantinedRecord]) -> None:
        if not self._ready:
            writer.prepare(self._target)
            self._ready = True
        with self._clients.one() as client:
            writer.put(client, records)
