"""`bench/micro`: how fast one core scans, stamps, opens, merges and digests record batches.

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
from towpath.wire.batch import LENGTH, POSITION, scan, stamp
from towpath.wire.digest import digest_batches
from towpath.wire.records import decode, encode
from towpath.wire.reencode import reencode

REPEAT = 5
MOST = 256 << 10


def main() -> None:
    """Print one table: each function on each kind of data."""
    rows = [row for data in SETS[:4] for row in _rows(data)]
    head = ("data", "function", "batches/s", "records/s", "record MiB/s")
    print("\n".join(table(head, rows)))


def _rows(data: DataSet) -> list[tuple[str, ...]]:
    small = replace(data, partitions=1, records=data.per_batch * max(20, 20_000 // data.per_batch))
    prepared = prepare(small)
    batches = prepared.batches[0]
    buffer = np.frombuffer(bytearray(b"".join(batches)), np.uint8)
    _number(buffer)
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


def _number(buffer: Any) -> None:
    """Give the batches following base offsets, as they have in a log."""
    following = 0
    for row in scan(buffer, 0, len(buffer)):
        at = int(row[POSITION])
        buffer[at : at + 8] = np.frombuffer(following.to_bytes(8, "big"), np.uint8)
        following += int.from_bytes(buffer[at + 57 : at + 61].tobytes(), "big")


def _speed(function: Callable[[], object], batches: int, records: int, size: int) -> list[str]:
    function()  # numba compiles, or reads what it compiled before
    best = min(_timed(function) for _ in range(REPEAT))
    return [f"{batches / best:,.0f}", f"{records / best:,.0f}", f"{size / MIB / best:,.0f}"]


def _timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return max(time.perf_counter() - began, 1e-9)


if __name__ == "__main__":
    main()
