"""Missing records that compaction may explain, judged by their keys.

The cleaner removes a record when a later one has the same key. It removes a tombstone (a record
without a value) when it is the only record of its key. So a missing record is explained if the log
of that side holds a later record of its key, or if it is a tombstone, the newest missing record of
its key, and the log no longer holds the key. If the newest missing record of a key is not
explained, it counts as missing; older ones of that key would have been removed because of it.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from towpath.compare.cursor import Cursor, Piece
from towpath.compare.join import Compared
from towpath.model.nouns import Side
from towpath.wire import batch as wire
from towpath.wire import records
from towpath.wire.digest import Hashes

_CONSOLIDATE = 500_000

MISSING = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("source", pa.int64()),
        pa.field("target", pa.int64()),
        pa.field("hash", pa.uint64()),
        pa.field("tombstone", pa.bool_()),
    ]
)
"""Missing records. `source` and `target` are their offsets on each side, real or expected."""
_LAST = pa.schema([("key", pa.binary()), ("last", pa.int64())])


class Lacking:
    """Records missing on each side, judged once the whole range is read."""

    def __init__(self) -> None:
        self._rows: dict[Side, list[pa.Table]] = {Side.SOURCE: [], Side.TARGET: []}

    def add(
        self, side: Side, other: Compared, sources: wire.Table, targets: wire.Table, hashes: Hashes
    ) -> None:
        """Add records of the `other` side that `side` lacks.

        Args:
            side: The side that lacks them.
            other: Batches of the other side, which hold them.
            sources: Their source offsets.
            targets: Their target offsets, real or expected.
            hashes: Their hashes.
        """
        rows = other.rows(sources if side is Side.TARGET else targets)
        columns = [
            rows["key"],
            pa.array(sources),
            pa.array(targets),
            pa.array(hashes),
            pc.is_null(rows["value"]),
        ]
        self._rows[side].append(pa.Table.from_arrays(columns, schema=MISSING))

    def of(self, side: Side) -> pa.Table | None:
        """Return the records that a side lacks, with the schema `MISSING`, `None` if none."""
        rows = self._rows[side]
        return pa.concat_tables(rows).combine_chunks() if rows else None


def keys_of(piece: Piece) -> pa.Table:
    """Return the columns `key` and `offset` of all records."""
    rows = pa.Table.from_batches(map(records.decode, piece.batches()), records.RECORDS)
    return rows.select(["key", "offset"])


def lost(
    missing: pa.Table, side: Side, log: Cursor, keys: Callable[[Piece], pa.Table] = keys_of
) -> pa.Table:
    """Return the missing records that compaction does not explain.

    Args:
        missing: Records with the schema `MISSING`.
        side: The side that lacks them.
        log: The whole log of that side, with records of all producers.
        keys: Returns keys and offsets of records, the keys as the target has them.
    """
    newest = _newest(missing, side)
    keyless = missing.filter(pc.is_null(missing["key"]))
    kept = newest.join(_kept(newest["key"], log, keys), "key")
    gone = pc.and_(pc.is_null(kept["last"]), kept["tombstone"])
    later = pc.fill_null(pc.greater(kept["last"], kept[side]), False)
    unexplained = kept.filter(pc.invert(pc.or_(gone, later)))
    return pa.concat_tables([keyless, unexplained.select(MISSING.names).cast(MISSING)])


def _newest(missing: pa.Table, side: Side) -> pa.Table:
    keyed = missing.filter(pc.is_valid(missing["key"]))
    last = keyed.group_by("key").aggregate([(side, "max")])
    return keyed.join(last, ["key", side], ["key", f"{side}_max"], join_type="inner")


def _kept(wanted_keys: pa.ChunkedArray, log: Cursor, keys: Callable[[Piece], pa.Table]) -> pa.Table:
    """Return the last offset of each wanted key in the log, as columns `key` and `last`."""
    found = _LAST.empty_table()
    wanted = pc.unique(wanted_keys)
    while not log.done:
        log.fill()
        for piece in log.before(log.have):
            found = pa.concat_tables([found, _matches(keys(piece), wanted)])
        log.advance(log.have)
        if len(found) > _CONSOLIDATE:
            found = _last(found)
    return _last(found)


def _matches(rows: pa.Table, wanted: pa.Array) -> pa.Table:
    rows = rows.rename_columns(["key", "last"])
    return rows.filter(pc.is_in(rows["key"], wanted)).cast(_LAST)


def _last(found: pa.Table) -> pa.Table:
    table = found.group_by("key").aggregate([("last", "max")])
    return table.rename_columns({"key": "key", "last_max": "last"})
