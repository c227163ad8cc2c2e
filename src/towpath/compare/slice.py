"""The comparing slice, which reads both sides once and reports differences.

For each range, two cursors advance together. Batches with the same record bytes, at the offsets
given by the runs, are equal without being opened. Where batches have different boundaries, the
batches up to the next common boundary are opened: equal offsets and digests there mean equal
records. Only where these differ, records are joined one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.alike import bytes_digest, same_batches
from towpath.compare.changed import ChangedPortion, Ids, SourceChange, UncomparableError, no_ids
from towpath.compare.cursor import Cursor, Reader
from towpath.compare.decided import LedgerIds
from towpath.compare.deleted import count_deleted
from towpath.compare.doubled import SequenceCheck
from towpath.compare.findings import Findings
from towpath.compare.join import Compared, Joined, Portion, join, what_differs
from towpath.compare.keys import Lacking, keys_of, lost
from towpath.compare.named import IdLook, SeenIds
from towpath.compare.others import OtherRecords
from towpath.compare.work import CompareSlice, Comparison, Range
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import Side, SourceOffset, TargetOffset
from towpath.settings import ClusterConfig
from towpath.wire import batch as wire
from towpath.wire.digest import Digest, Hashes, fold
from towpath.wire.naming import IdSample

SCHEMA = "comparison string"
_LONGEST_REACH = 1 << 12


def compare(work: CompareSlice, decided: Ids | None = None) -> Iterator[Comparison]:
    """Compare the ranges of a slice.

    Args:
        work: The slice.
        decided: The decisions about schema ids; by default those of the ledger.

    Raises:
        ClusterError: A cluster could not be reached, or refused to be read.
    """
    with ExitStack() as stack:
        source = _reader(stack, work.source, Side.SOURCE, work.fetch_bytes)
        target = _reader(stack, work.target, Side.TARGET, work.fetch_bytes)
        ids = decided or _of_ledger(work, target)
        for part in work.ranges:
            change = SourceChange.of(part, work.changes, ids)
            yield compare_range(part, source, target, work.ids, change)


def compare_range(
    part: Range, source: Reader, target: Reader, ids: IdSample | None, change: SourceChange | None
) -> Comparison:
    """Compare one range, or count the records in a range that the target has deleted.

    Raises:
        ClusterError: A cluster could not be reached, or refused to be read.
    """
    if part.gone:
        return count_deleted(part, source, change)
    return _Comparing(part, source, target, ids, change).run()


def compare_rows(work: CompareSlice) -> Iterator[pa.RecordBatch]:
    """Compare the ranges of a slice for Spark. Yields one row of `SCHEMA` per range."""
    for comparison in compare(work):
        yield pa.RecordBatch.from_pydict({"comparison": [comparison.to_json()]})


def _of_ledger(work: CompareSlice, target: Reader) -> Ids:
    if work.changes is None:
        return no_ids
    return LedgerIds(work.changes.link, target.admin, target.client)


def _reader(stack: ExitStack, config: ClusterConfig, side: Side, fetch_bytes: int) -> Reader:
    admin = stack.enter_context(Admin(config, side))
    client = stack.enter_context(Client(config, side, admin))
    return Reader(side, client, admin, fetch_bytes, config.request_timeout)


class _Comparing:
    """The state of comparing one range."""

    def __init__(
        self,
        part: Range,
        source: Reader,
        target: Reader,
        ids: IdSample | None,
        change: SourceChange | None,
    ) -> None:
        self._part, self._change = part, change
        self._ids = None if ids is None else IdLook(ids, part.change)
        self._stopped = ""
        self._readers = {Side.SOURCE: source, Side.TARGET: target}
        self._map = part.offsets
        self._source = Cursor(source, part.source, part.first, part.end, None, twin=part.twin)
        self._check = SequenceCheck(part.own, part.target_first, part.target_end)
        self._target = Cursor(
            target,
            part.target,
            part.target_first,
            part.target_end,
            part.producers,
            self._check,
            part.cut,
            self._ids,
        )
        self._reach = 1
        self._found = Findings(self._map)
        self._counts = self._found.counts
        self._lacking = Lacking()

    def run(self) -> Comparison:
        """Compare the whole range. A damaged batch ends the comparison, as a difference."""
        try:
            while not (self._source.done and self._target.done):
                self._source.fill()
                self._target.fill()
                if not self._take_same():
                    self._take_opened()
            for side in Side:
                self._settle(side)
        except CorruptBatchError as error:
            self._found.differs(
                self._source.position, self._target.position, f"unreadable: {error}"
            )
            self._counts.changed += 1
        except UncomparableError as error:
            self._stopped = f"from source offset {self._source.position} on: {error}"
        self._found.read(self._source, self._target)
        part, check = self._part, self._check_behind()
        logs = self._before(), self._target, self._behind(check)
        others, late = OtherRecords(), OtherRecords()
        for log in logs:
            others, late = others.then(log.others), late.then(log.behind_cut)
        self._counts.twin = self._source.left_to_twin
        self._counts.foreign = others.records + late.records
        return Comparison(
            source=part.source,
            target=part.target,
            first=part.first,
            end=part.end,
            source_digest=self._found.source_digest,
            target_digest=self._found.target_digest,
            counts=self._counts,
            bytes=self._source.bytes + self._target.bytes,
            difference=self._found.first,
            notes=tuple(self._found.notes),
            doubled=self._check.found.then(replace(check.found, seen=())),
            beyond=check.beyond,
            others=others,
            behind_cut=late,
            ids=SeenIds() if self._ids is None else self._ids.seen,
            tally=self._change.tally if self._change is not None else (),
            stopped=self._stopped,
        )

    def _check_behind(self) -> SequenceCheck:
        part = self._part
        return SequenceCheck(part.own, part.target_end, wire.NO_END, part.following)

    def _before(self) -> Cursor:
        """Read what is before the range, for records of others."""
        part = self._part
        first = part.front if part.front >= 0 else part.target_first
        return self._outside(first, part.target_first)

    def _behind(self, check: SequenceCheck) -> Cursor:
        """Read what is after the copied records, as far as it is visible, for records of others.

        Our own records there are checked.
        """
        part, admin = self._part, self._readers[Side.TARGET].admin
        end = admin.offsets.latest([part.target])[part.target] if part.following else 0
        return self._outside(part.target_end, end, check)

    def _outside(self, first: int, end: int, check: SequenceCheck | None = None) -> Cursor:
        """Read target offsets [first, end), which are not compared."""
        reader = self._readers[Side.TARGET]
        part = self._part
        log = Cursor(reader, part.target, first, end, part.producers, check, part.cut, self._ids)
        while not log.done:
            log.fill()
            if check is None:  # of these, the source has deleted what was copied
                ours = Portion(log.before(log.have), log.position, end).offsets()
                self._counts.expired += int((~self._is_replaced(ours)).sum())
            log.advance(log.have)
        return log

    # Without opening

    def _take_same(self) -> bool:
        if self._change is not None:
            return False
        count, rows = same_batches(self._source, self._target, self._map)
        if not count:
            return False
        rows = rows[:count]
        digest = bytes_digest(self._target.pieces[0], rows)
        self._found.add(digest, digest)
        own_clock = rows[:, wire.ATTRIBUTES] & wire.LOG_APPEND_TIME != 0
        self._counts.untimed += int(rows[own_clock, wire.COUNT].sum())
        self._counts.equal += digest.records
        self._counts.unopened += digest.records
        end = int(self._source.pieces[0].rows[count - 1, wire.LAST]) + 1
        self._source.advance(end)
        self._target.advance(int(rows[-1, wire.LAST]) + 1)
        self._reach = 1
        return True

    # Opened

    def _take_opened(self) -> None:
        source_end, target_end = self._border()
        source = self._expected(source_end)
        target = Portion(self._target.before(target_end), self._target.position, target_end)
        untimed = target.own_clock
        if untimed:
            source, target = source.timeless(), target.timeless()
        offsets = target.offsets()
        expected = self._map.targets(source.offsets())
        if untimed:
            self._counts.untimed += len(offsets)
        digests = source.digest(), target.digest()
        if np.array_equal(expected, offsets) and digests[0] == digests[1]:
            self._found.add(*digests)
            self._counts.equal += len(offsets)
        else:
            self._join(source, target)
        self._source.advance(source_end)
        self._target.advance(target_end)
        self._reach = min(2 * self._reach, _LONGEST_REACH)

    def _expected(self, end: int) -> Portion | ChangedPortion:
        """Return the records of the source before an offset, as the target should have them."""
        pieces, first = self._source.before(end), self._source.position
        if self._change is None:
            return Portion(pieces, first, end)
        return self._change.portion(pieces, first, end)

    def _border(self) -> tuple[int, int]:
        """Return where the next stretch ends on both sides: at a common batch boundary, if any."""
        if self._source.pieces and self._target.pieces:
            ours = self._target.pieces[0].rows[:, wire.LAST]
            theirs = self._source.pieces[0].rows[:, wire.LAST]
            mapped = self._map.targets(theirs)
            inside = (theirs < self._source.end) & (mapped < self._target.end)
            common = np.flatnonzero(inside & np.isin(mapped, ours))[: self._reach]
            if len(common):
                return int(theirs[common[-1]]) + 1, int(mapped[common[-1]]) + 1
        have = SourceOffset(self._source.have)
        if self._map.next_target(have) <= self._target.have:
            return have, self._map.next_target(have)
        return self._map.next_source(TargetOffset(self._target.have)), self._target.have

    def _join(self, source: Compared, target: Compared) -> None:
        """Compare record by record."""
        offsets, hashes = source.hashes()
        target_offsets, target_hashes = target.hashes()
        expected = self._map.targets(offsets)
        joined = join(expected, hashes, target_offsets, target_hashes)
        self._counts.equal += joined.equal
        self._changed(joined, source, target, offsets, target_offsets)
        keep = self._missing(joined, source, offsets, expected, hashes)
        keep_target = self._extra(joined, target, target_offsets, target_hashes)
        self._found.add(fold(hashes[keep]), fold(target_hashes[keep_target]))

    def _changed(
        self,
        joined: Joined,
        source: Compared,
        target: Compared,
        offsets: wire.Table,
        target_offsets: wire.Table,
    ) -> None:
        self._counts.changed += len(joined.changed)
        if len(joined.changed):
            at, there = (
                int(offsets[joined.changed[0]]),
                int(target_offsets[joined.changed_target[0]]),
            )
            self._found.differs(at, there, what_differs(source.record(at), target.record(there)))

    def _missing(
        self,
        joined: Joined,
        source: Compared,
        offsets: wire.Table,
        expected: wire.Table,
        hashes: Hashes,
    ) -> wire.Mask:
        """Count records that only the source has. Returns which ones the digest covers."""
        keep = np.ones(len(offsets), np.bool_)
        where = np.array(
            [self._map.next_target(SourceOffset(int(o))) for o in offsets[joined.source_only]],
            np.int64,
        )
        deleted = where < self._target.log_start
        gone = joined.source_only[deleted]
        self._counts.deleted += len(gone)
        self._counts.due += int((offsets[gone] < self._part.due).sum())
        keep[gone] = False
        rest = joined.source_only[~deleted]
        if self._part.target_compacted and len(rest):
            keep[rest] = False
            self._lacking.add(Side.TARGET, source, offsets[rest], where[~deleted], hashes[rest])
        elif len(rest):
            self._counts.missing += len(rest)
            at = int(rest[0])
            copied = expected[at] >= 0
            self._found.differs(
                int(offsets[at]),
                int(expected[at]),
                "missing on the target" if copied else "never copied",
            )
        return keep

    def _extra(
        self, joined: Joined, target: Compared, offsets: wire.Table, hashes: Hashes
    ) -> wire.Mask:
        """Count records that only the target has. Returns which ones the digest covers."""
        keep = np.ones(len(offsets), np.bool_)
        alone = joined.target_only
        sources = self._map.sources(offsets[alone])
        replaced = self._is_replaced(offsets[alone])
        expired = ~replaced & (sources >= 0) & (sources < self._source.log_start)
        self._counts.replaced += int(replaced.sum())
        self._counts.expired += int(expired.sum())
        keep[alone[replaced | expired]] = False
        left = ~(replaced | expired)
        rest, sources = alone[left], sources[left]
        if self._part.source_compacted and len(rest):
            keep[rest] = False
            self._lacking.add(Side.SOURCE, target, sources, offsets[rest], hashes[rest])
        elif len(rest):
            self._counts.extra += len(rest)
            self._found.differs(int(sources[0]), int(offsets[rest[0]]), "not on the source")
        return keep

    def _is_replaced(self, offsets: wire.Table) -> wire.Mask:
        found = np.zeros(len(offsets), np.bool_)
        for first, end in self._part.replaced:
            found |= (offsets >= first) & (offsets < end)
        return found

    # Compaction

    def _settle(self, side: Side) -> None:
        """Count the records that a side lacks as compacted or as lost."""
        missing = self._lacking.of(side)
        if missing is None:
            return
        if not self._part.whole:
            self._compacted(side, len(missing))
            self._found.note(
                f"records missing on the {side} were counted as compacted without a check"
            )
            return
        change = self._change if side is Side.SOURCE else None
        keys = change.keys if change is not None else keys_of
        unexplained = lost(missing, side, self._log(side), keys).sort_by("target")
        self._compacted(side, len(missing) - len(unexplained))
        if not len(unexplained):
            return
        digest = fold(np.array(unexplained["hash"], np.uint64))
        first = unexplained.slice(0, 1).to_pylist()[0]
        if side is Side.TARGET:
            self._counts.missing += len(unexplained)
            self._found.add(digest, Digest())
            what = "missing on the target, with no later record of its key"
        else:
            self._counts.extra += len(unexplained)
            self._found.add(Digest(), digest)
            what = "not on the source, with no later record of its key"
        self._found.differs(first["source"], first["target"], what)

    def _compacted(self, side: Side, count: int) -> None:
        self._counts.compacted += count
        self._counts.compacted_there += count if side is Side.TARGET else 0

    def _log(self, side: Side) -> Cursor:
        reader = self._readers[side]
        tp = self._part.target if side is Side.TARGET else self._part.source
        start = reader.admin.offsets.earliest([tp])[tp]
        return Cursor(reader, tp, start, reader.admin.offsets.latest([tp])[tp], None)
