"""`bench/micro`: how fast one core scans, stamps, opens, merges and digests record batches.

And what an answer full of one-record batches costs a slice.

The best of some repetitions, since anything else that the machine does only makes it slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bench.data import SETS, DataSet, prepare
from bench.meter import MIB
from bench.report import table
from towpath.cluster.data.buffers import BufferPool
from towpath.model.nouns import (
    NO_TOPIC_ID,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.records.lane.lane import Lane
from towpath.records.standing import Position, Standing
from towpath.records.work import Assignment
from towpath.wire.batch import LENGTH, POSITION, scan, stamp
from towpath.wire.codec import NONE
from towpath.wire.digest import digest_batches
from towpath.wire.records import decode, encode
from towpath.wire.reencode import reencode

PARTITIONS = 8
READINGS = SETS[2]
HERE = TopicPartition(TopicName("topic"), 0)
BEGIN = Position(SourceOffset(0), TargetOffset(0), 0)
NO_RUN = (SourceOffset(0), TargetOffset(0), 0)
ASSIGNMENT = Assignment(
    source=HERE, target=HERE, source_id=NO_TOPIC_ID, target_id=NO_TOPIC_ID,
    producer_id=ProducerId(1 << 40), filler_id=ProducerId(7), start=SourceOffset(0),
)  # fmt: skip
REPEAT = 5
MOST = 256 << 10


def main() -> None:
    """Print one table: each function on each kind of data."""
    rows = [row for data in SETS[:4] for row in _rows(data)]
    head = ("data", "function", "batches/s", "records/s", "record MiB/s")
    print("\n".join(table(head, rows)))
    print()
    heads = ("batches of one record from each of 8 partitions", "us an answer", "us a record")
    print("\n".join(table(heads, [_turn(count) for count in (1, 3, 10, 30, 100)])))


def _rows(data: DataSet) -> list[tuple[str, ...]]:
    small = replace(data, partitions=1, records=data.per_batch * max(20, 20_000 // data.per_batch))
    prepared = prepare(small)
    batches = prepared.batches[0]
    buffer = np.frombuffer(bytearray(b"".join(batches)), np.uint8)
    number_batches(buffer)
    found = scan(buffer, 0, len(buffer))
    positions, lengths = found[:, POSITION].copy(), found[:, LENGTH].copy()
    spare = buffer.copy()  # stamping takes the base offsets away
    opened = [decode(batch) for batch in batches]

    def merged() -> object:
        # As a slice does: not more at once than becomes a batch of the usual size.
        step = max(1, MOST // max(1, len(batches[0])))
        return [
            reencode(buffer, positions[at : at + step], lengths[at : at + step], max_bytes=MOST)
            for at in range(0, len(positions), step)
        ]

    functions: dict[str, Callable[[], object]] = {
        "scan": lambda: scan(buffer, 0, len(buffer)),
        "stamp": lambda: stamp(spare, scan(spare, 0, len(spare)), 1 << 40, 7),
        "merge": merged,
        "decode": lambda: [decode(batch) for batch in batches],
        "encode": lambda: [encode(records, data.codec) for records in opened],
        "digest": lambda: digest_batches(buffer, positions, lengths),
    }
    return [
        (data.name, name, *_speed(function, len(batches), small.records, prepared.record_bytes))
        for name, function in functions.items()
    ]


def _turn(count: int) -> tuple[str, str, str]:
    """Return what an answer costs a slice between its sockets: CPU of taking in and sending."""
    parts = [_singles(count) for _ in range(PARTITIONS)]
    best = min(sum(_taken(part, count) for part in parts) for _ in range(100)) * 1e6
    return str(count), f"{best:,.0f}", f"{best / count / PARTITIONS:,.2f}"


def _singles(count: int) -> bytes:
    singles = replace(READINGS, partitions=1, per_batch=1, records=count, codec=NONE)
    buffer = np.frombuffer(bytearray(b"".join(prepare(singles).batches[0])), np.uint8)
    number_batches(buffer)
    return buffer.tobytes()


def _taken(part: bytes, count: int) -> float:
    """Let a lane take in a partition's batches, send them and see them acknowledged."""
    lane = Lane(ASSIGNMENT, Standing(position=BEGIN, mode=Mode.IDENTICAL, reasons=(), run=NO_RUN))
    frame = BufferPool(1 << 24).frame(len(part))
    frame.view[:] = part
    began = time.process_time()
    lane.take(frame, 0, len(part))
    while lane.progress.position.source < count:
        batch = lane.next_batch()
        assert batch is not None  # noqa: S101  # it waits
        lane.acknowledge(TargetOffset(batch.base))
    return time.process_time() - began


def number_batches(buffer: Any, following: int = 0) -> None:
    """Give the batches following base offsets, as they have in a log."""
    for row in scan(buffer, 0, len(buffer)):
        at = int(row[POSITION])
        buffer[at : at + 8] = np.frombuffer(following.to_bytes(8, "big"), np.uint8)
        following += int.from_bytes(buffer[at + 57 : at + 61].tobytes(), "big")


def _speed(function: Callable[[], object], batches: int, records: int, size: int) -> list[str]:
    function()  # numba compiles, or reads what it compiled before
    best = min(timed(function) for _ in range(REPEAT))
    return [f"{batches / best:,.0f}", f"{records / best:,.0f}", f"{size / MIB / best:,.0f}"]


def timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return max(time.perf_counter() - began, 1e-9)


if __name__ == "__main__":
    main()
