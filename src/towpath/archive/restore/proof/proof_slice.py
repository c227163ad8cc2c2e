"""A slice of the proof: reads back restored records, and archived ones without a digest.

The digest of a whole segment is in the commit log since it was archived, so its object is not read
again. What a consumer of the target sees of this restore must have the same digest, with times, in
the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import numpy as np
import pyarrow as pa

from towpath.archive.format.either_format import read_object
from towpath.archive.format.packing import digest_of, pack_rows
from towpath.archive.format.wanted import Wanted
from towpath.archive.read.feed.log_supply import LogSupply
from towpath.archive.read.foreign.broker_logs import find_logs
from towpath.archive.restore.proof.proof_work import (
    Archived,
    BrokerLogCut,
    ComparedRange,
    ProofRange,
    ProofSlice,
    SegmentCut,
    in_order,
)
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.changed import SourceChange, UncomparableError
from towpath.compare.cursor import Cursor, Piece, Reader
from towpath.compare.decided import LedgerIds
from towpath.compare.join import Portion
from towpath.model.digest import Digest
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side
from towpath.store import Store
from towpath.wire import batch as wire
from towpath.wire.aborted import Aborted
from towpath.wire.change import Changer
from towpath.wire.codec import NONE
from towpath.wire.packing import Packed

SCHEMA = "compared string"
_FETCH_BYTES = 8 << 20


def prove_rows(work: ProofSlice) -> Iterator[pa.RecordBatch]:
    """Compare the ranges of a slice for Spark. Yields one row of `SCHEMA` per range."""
    for each in compare(work):
        yield pa.RecordBatch.from_pydict({"compared": [each.to_json()]})


def compare(work: ProofSlice) -> Iterator[ComparedRange]:
    """Compare the ranges of a slice. Read errors are reported with their ranges.

    Raises:
        ClusterError: The target could not be reached at all.
        StoreError: The store could not be opened at all.
    """
    with ExitStack() as stack:
        store = stack.enter_context(Store(work.store, begun=True))
        admin = stack.enter_context(Admin(work.target, Side.TARGET))
        client = stack.enter_context(Client(work.target, Side.TARGET, admin))
        reader = Reader(Side.TARGET, client, admin, _FETCH_BYTES, work.target.request_timeout)
        ids = LedgerIds(work.restore, admin, client)
        for each in work.ranges:
            yield _Range(store, work.region, reader, ids, each).compared()


class _Range:
    def __init__(
        self, store: Store, region: str, reader: Reader, ids: LedgerIds, part: ProofRange
    ) -> None:
        self._store, self._region, self._reader, self._part = store, region, reader, part
        self._ids = ids
        self._restored = Digest()
        self._others = self._bytes = 0

    def compared(self) -> ComparedRange:
        part = self._part
        archived, why = Digest(), ""
        try:
            archived = in_order(map(self._archived, part.archived))
            why = self._read_back()
        except (TowpathError, UncomparableError) as error:
            why = str(error)
        return ComparedRange(
            tp=part.tp,
            first=part.first,
            end=part.end,
            target_first=part.target_first,
            target_end=part.target_end,
            archived=archived,
            restored=self._restored,
            others=self._others,
            bytes=self._bytes,
            why=why,
        )

    # What the archive holds

    def _archived(self, each: Archived) -> Digest:
        if isinstance(each, Digest):
            return each
        return self._of_log(each) if isinstance(each, BrokerLogCut) else self._of_segment(each)

    def _of_segment(self, cut: SegmentCut) -> Digest:
        place = cut.segment.place
        if place is None:
            return Digest()
        file = read_object(cut.segment.format, self._store.reader(place.key), place.key)
        try:
            footer = file.segment(place.first_row_group)
            footer.require_holds(cut.segment, file.name)
            rows = file.rows(footer, Wanted(cut.first, cut.end))
            if not self._part.change.digest:
                return in_order(map(digest_of, rows))
            packed = map(partial(pack_rows, codec=NONE, append_time=False), rows)
            return in_order(self._kept(each, (), cut.first, cut.end) for each in packed)
        finally:
            file.close()

    def _of_log(self, cut: BrokerLogCut) -> Digest:
        log = find_logs(self._store, self._region)[cut.partition]
        chunks = LogSupply(self._store, log, cut.end).read(cut.first)
        return in_order(self._kept(e.data, e.aborted, cut.first, cut.end) for e in chunks if e.data)

    def _kept(self, data: Packed, aborted: Aborted, first: int, end: int) -> Digest:
        """Return the digest of those records of batches that the restore writes, as it does."""
        buffer = np.frombuffer(data, np.uint8)
        table = wire.scan(buffer, 0, len(buffer))
        seen = wire.visible(table, aborted) & (table[:, wire.COUNT] > 0)
        pieces, part = [Piece(buffer, table[seen])], self._part
        if not part.change.digest or part.origin is None:
            return Portion(pieces, first, end).digest()
        changer = Changer(
            change=part.change,
            origin=part.origin,
            ids=self._ids(part.tp.topic, part.change),
            left_out=np.empty(0, np.int64),
        )
        return SourceChange(changer).portion(pieces, first, end).digest()

    # What the target holds

    def _read_back(self) -> str:
        """Read what the restore wrote; return why it cannot be compared, "" if it can."""
        part, stamped = self._part, False
        if part.target is None:
            return ""
        log = Cursor(self._reader, part.target, part.target_first, part.target_end, part.producers)
        while not log.done:
            log.fill()
            portion = Portion(log.before(log.have), log.position, log.have)
            stamped = stamped or portion.own_clock
            self._restored = self._restored.then(portion.digest())
            log.advance(log.have)
        self._others, self._bytes = log.others.records, log.bytes
        if log.log_start > part.target_first:
            return f"the target has deleted its records before offset {log.log_start} since"
        return "the target gives records its own times (LogAppendTime)" if stamped else ""
