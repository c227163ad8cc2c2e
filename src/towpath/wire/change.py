"""Changes of the records in opened batches, in one compiled pass.

A change is a pure function of the source's bytes, of where they come from, and of decisions that
never change once they are made: the same records become the same records in every process, however
they are split into batches. The source's bytes are never written to, so a second try changes
nothing twice.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

import numpy as np

from towpath.model.changes import BadRecord, Framing, RecordChange, RecordOrigin
from towpath.model.errors import CorruptBatchError
from towpath.wire import changing, framing, judging, opened, report, translate
from towpath.wire.batch import CODEC_MASK, NO_END, Buffer, Table
from towpath.wire.codec import LIMIT, LZ4, NAMES
from towpath.wire.heading import MARK
from towpath.wire.ids import IdTable, SchemaName, name_of
from towpath.wire.naming import Part
from towpath.wire.opened import OpenedBatches, PackedSource, read_only
from towpath.wire.program import BAD, KEYS_ON, VALUES_ON, Program
from towpath.wire.tally import COLUMNS, NOTHING_DONE, OffsetTally

_LARGEST_PAYLOAD = 64 << 20
"""Upper bound of the size of a payload that Glue's serializer compressed, in bytes."""
_PARTS = (Part.KEY, Part.VALUE)
_PIECES = 4
"""Upper bound of the pieces of a record that stay the same and are noted."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A record that goes to the quarantine instead of being copied.

    Attributes:
        offset: Its offset at the source.
        timestamp: Its timestamp in milliseconds since 1970, or -1.
        code: Why it cannot be kept.
        record: The record as it is at the source, length included (`wire/plain.py` reads it).
    """

    offset: int
    timestamp: int
    code: BadRecord
    record: bytes


@dataclass(frozen=True, slots=True)
class Halt:
    """The offset of a record at which the partition must stop by policy."""

    offset: int
    code: BadRecord


@dataclass(frozen=True, slots=True)
class UnknownId:
    """A schema id without a decision.

    Attributes:
        part: Whether it is the schema of a key or of a value.
        name: The id.
    """

    part: Part
    name: SchemaName


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRecords:
    """Changed records; if `unknown` schema ids were found, only these count.

    Attributes:
        opened: The kept records with their changed bytes and the offsets of the source.
        kept: Number of kept records.
        tally: What was done to records, by their offsets.
        aside: Records for the quarantine, by offset; they are not among the kept ones.
        halt: Where the policy says stop, if it does.
        unknown: Ids without a decision; not all, if there are many.
    """

    opened: OpenedBatches
    kept: int
    tally: OffsetTally = NOTHING_DONE
    aside: tuple[Aside, ...] = ()
    halt: Halt | None = None
    unknown: tuple[UnknownId, ...] = ()


def _no_offsets() -> Table:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changer:
    """Changes the records of one partition.

    Attributes:
        change: What happens to records.
        origin: Where they come from.
        ids: What becomes of schema ids.
        left_out: Source offsets that are decided to be left out, ascending.
    """

    change: RecordChange
    origin: RecordOrigin
    ids: IdTable = field(default_factory=IdTable.of)
    left_out: Table = field(default_factory=_no_offsets)
    _program: Program = field(init=False, repr=False, compare=False)
    _rules: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_program", Program.of(self.change, self.origin))
        object.__setattr__(self, "_rules", self.change.rules)

    def with_ids(self, ids: IdTable) -> Changer:
        """Return a changer with more decisions about ids."""
        return replace(self, ids=ids)

    def apply(
        self, source: OpenedBatches, first_offset: int = 0, end_offset: int = NO_END
    ) -> ChangedRecords:
        """Change the records in a range of offsets.

        Args:
            source: Opened batches; nothing is written to them.
            first_offset: Records before this offset are left out, uncounted.
            end_offset: Records from this offset on are left out, uncounted.

        Raises:
            CorruptBatchError: The batches cannot be read, or one is a control batch.
        """
        bounds = np.array([first_offset, end_offset, 0], np.int64)
        if not self.change.only_ids or not _whole(source, first_offset, end_offset):
            return self._moved(source, bounds)
        if self.change.ids is None and not len(self.left_out):
            return ChangedRecords(opened=self._recoded(source, source), kept=source.count())
        return self._patched(source, bounds) or self._moved(source, bounds)

    def _patched(self, source: OpenedBatches, bounds: Table) -> ChangedRecords | None:
        """Return the result if no byte has to move, and all of the records are kept."""
        source = _narrowed(source)
        run = self._run(source)
        out = np.array(source.data)
        run.go(source, np.array([*bounds[:2], 1]), self._tables(), out, source.batches.copy())
        if run.state[report.KEPT] < source.count():
            return None
        made = OpenedBatches(read_only(out), source.batches, run.origin(source))
        return run.changed(self._recoded(source, made) if self.change.codec else made, source)

    def _moved(self, source: OpenedBatches, bounds: Table) -> ChangedRecords:
        tables = self._tables(*self._unpacked(source))
        room = source.size() * self._program.stretch + source.count() * self._program.growth
        out = np.empty(room + len(tables[-1]), np.uint8)
        made = source.batches.copy()
        run = self._run(source)
        run.go(source, bounds, tables, out, made)
        written = read_only(out[: run.state[report.AT]])
        # Most matches are with the record before, which is gone where every second one is dropped.
        whole = run.state[report.KEPT] == source.count()
        changed = OpenedBatches(written, made, run.origin(source) if whole else None)
        return run.changed(self._recoded(source, changed), source)

    def _run(self, source: OpenedBatches) -> _Run:
        noted = source.origin is not None and self.change.codec in (None, NAMES[LZ4])
        return _Run.of(self._program, source.count(), self._rules, noted=noted)

    def _tables(
        self, packed: Table | None = None, payloads: bytes | bytearray = b""
    ) -> tuple[Table, Table, Table, Table, Buffer]:
        found = np.empty((0, 3), np.int64) if packed is None else packed
        side = read_only(np.frombuffer(payloads or b"\0", np.uint8))
        return self.ids.key, self.ids.value, self.left_out, found, side

    def _unpacked(self, source: OpenedBatches) -> tuple[Table, bytes | bytearray]:
        """Decompress payloads that Glue's serializer compressed: where each is, and all of them."""
        ids = self.change.ids
        if ids is None or ids.framing is not Framing.FROM_GLUE:
            return np.empty((0, 3), np.int64), b""
        flags = self._program.flags
        where = np.empty((2 * source.count(), 2), np.int64)
        count = changing.find_packed(
            source.data,
            source.batches,
            bool(flags[KEYS_ON]),
            bool(flags[VALUES_ON]),
            np.empty(8, np.int64),
            where,
        )
        found = np.empty((count, 3), np.int64)
        payloads = bytearray()
        for row, (at, size) in zip(found, where[:count].tolist(), strict=True):
            payload = _inflated(source.data[at + framing.GLUE_SIZE : at + size].data)
            row[:] = at, len(payloads), -1 if payload is None else len(payload)
            payloads += payload or b""
            if len(payloads) > LIMIT:
                raise CorruptBatchError(f"more than {LIMIT} bytes when payloads are decompressed")
        return found, payloads

    def _recoded(self, source: OpenedBatches, made: OpenedBatches) -> OpenedBatches:
        """Return batches that will be written with the wanted codec, and are as compressible."""
        batches = made.batches.copy()
        if len(batches) == 1:  # numbers of Python, as arrays of one take ten times as long
            ratio = made.size() / max(1, source.size())
            batches[0, opened.SIZE] = max(1, int(int(batches[0, opened.SIZE]) * ratio))
        else:
            before = np.maximum(1, source.batches[:, opened.END] - source.batches[:, opened.START])
            after = batches[:, opened.END] - batches[:, opened.START]
            batches[:, opened.SIZE] = np.maximum(1, batches[:, opened.SIZE] * (after / before))
        if self.change.codec is not None:
            codec = NAMES.index(self.change.codec)
            batches[:, opened.ATTRIBUTES] = batches[:, opened.ATTRIBUTES] & ~CODEC_MASK | codec
        return OpenedBatches(made.data, batches, made.origin)


def _narrowed(source: OpenedBatches) -> OpenedBatches:
    """Return the same batches without the bytes before and behind them."""
    if len(source.batches) < 2 and source.size() == len(source.data):
        return source
    batches = source.batches.copy()
    first, end = int(batches[:, opened.START].min()), int(batches[:, opened.END].max())
    batches[:, opened.START : opened.END + 1] -= first
    return OpenedBatches(source.data[first:end], batches, source.origin)


def _whole(source: OpenedBatches, first: int, end: int) -> bool:
    """Whether no record of the batches lies outside a range of offsets."""
    base = source.batches[:, opened.BASE]
    if len(base) == 1:
        last = int(base[0]) + int(source.batches[0, opened.LAST_DELTA])
        return first <= int(base[0]) and last < end
    return bool((base >= first).all() and (base + source.batches[:, opened.LAST_DELTA] < end).all())


def _inflated(payload: memoryview) -> bytes | None:
    """Return a payload that zlib compressed, `None` if it is damaged or too large."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(payload, _LARGEST_PAYLOAD)
    except zlib.error:
        return None
    return data if stream.eof and not stream.unused_data else None


@dataclass(frozen=True, slots=True)
class _Run:
    """The arrays of one pass."""

    program: tuple[object, ...]
    scratch: tuple[object, ...]
    report: tuple[Table, Table, Table, Table, Table]
    rules: tuple[str, ...]

    @classmethod
    def of(cls, program: Program, records: int, rules: tuple[str, ...], *, noted: bool) -> _Run:
        state = np.zeros(report.STATE, np.int64)
        state[report.HALT_OFFSET] = -1
        scratch = (
            np.zeros(8, np.int64),
            np.zeros((len(program.names), MARK), np.int64),
            np.zeros((4, translate.EDIT), np.int64),
            np.zeros(3, np.int64),
            np.zeros(judging.PLACE, np.int64),
        )
        reported = (
            state,
            np.empty((max(1, records), judging.ASIDE_COLUMNS), np.int64),
            np.empty((judging.MOST_UNKNOWN, judging.UNKNOWN_COLUMNS), np.int64),
            np.empty((max(1, records), COLUMNS), np.int64),
            np.empty((_PIECES * records + 1 if noted else 0, 3), np.int64),
        )
        return cls(program.arrays, scratch, reported, rules)

    @property
    def state(self) -> Table:
        return self.report[0]

    def go(
        self,
        source: OpenedBatches,
        bounds: Table,
        tables: tuple[Table, Table, Table, Table, Buffer],
        out: Buffer,
        made: Table,
    ) -> None:
        bad, reason = changing.change_records(
            source.data, source.batches, bounds, self.program, tables, self.scratch, self.report,
            out, made,
        )  # fmt: skip
        if reason:
            raise CorruptBatchError(
                f"batch {bad} of {len(source.batches)}: {changing.REASONS[reason]}"
            )

    def origin(self, source: OpenedBatches) -> PackedSource | None:
        """Return what the written records come from."""
        state, pieces = self.state, self.report[4]
        if source.origin is None or not len(pieces):
            return None
        return PackedSource(
            source.origin.packed, source.origin.size, pieces[: state[report.PIECES]]
        )

    def changed(self, made: OpenedBatches, source: OpenedBatches) -> ChangedRecords:
        state, asides, unknown, done, _ = self.report
        halt = None
        if state[report.HALT_OFFSET] >= 0:
            halt = Halt(int(state[report.HALT_OFFSET]), _code(state[report.HALT_CODE]))
        return ChangedRecords(
            opened=made,
            kept=int(state[report.KEPT]),
            tally=OffsetTally(done[: state[report.NOTED]].copy(), self.rules),
            aside=tuple(_aside(source, row) for row in asides[: state[report.ASIDE]].tolist()),
            halt=halt,
            unknown=tuple(map(_unknown, unknown[: state[report.UNKNOWN]].tolist())),
        )


def _code(number: int) -> BadRecord:
    return BAD[int(number) - 1]


def _aside(source: OpenedBatches, row: list[int]) -> Aside:
    record = source.data[row[judging.FROM] : row[judging.TO]].tobytes()
    return Aside(row[judging.OFFSET], row[judging.TIME], _code(row[judging.CODE]), record)


def _unknown(row: list[int]) -> UnknownId:
    part, kind, high, low = row
    return UnknownId(_PARTS[part], name_of(kind, high, low))
