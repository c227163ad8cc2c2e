"""`bench/rewrite --sets micro`: how fast one core changes records, without brokers.

All that a slice does with a batch (open it, change it, write it), in its parts, and beside it what
the codecs take alone for the same bytes: less is not to be had by opening and compressing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from bench.data import SETS, DataSet
from bench.functions import REPEAT, number_batches
from bench.meter import MIB
from towpath.model.changes import (
    AddedHeader,
    DropRule,
    Framing,
    HeaderContent,
    IdChange,
    RecordChange,
    RecordOrigin,
)
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.records.lane.reshape import SMALL
from towpath.wire.batch import CODEC_MASK, HEADER_SIZE, LENGTH, POSITION, scan, stamp
from towpath.wire.change import Changer
from towpath.wire.codec import compress
from towpath.wire.header import BatchHeader
from towpath.wire.ids import IdTable
from towpath.wire.opened import open_batches
from towpath.wire.records import RECORDS, encode
from towpath.wire.reencode import reencode_opened
from towpath.wire.streams import decompress

PROVENANCE = "redpanda-migrator-provenance"
ORIGIN = RecordOrigin(
    link=LinkName("bench"), topic=TopicName("orders"), partition=3,
    source_cluster=ClusterId("c4rAG9VRTqGLHHnmLUvWwA"), target_cluster=ClusterId("home"),
)  # fmt: skip
MOST = 256 << 10
IDS = range(1, 21)
GLUE = [UUID(int=number << 64 | 12345) for number in IDS]


@dataclass(frozen=True, slots=True)
class Scene:
    """One change, and the data that it is tried on."""

    name: str
    change: RecordChange
    ids: IdTable = field(default_factory=IdTable.of)
    frame: Callable[[int], bytes] = lambda index: b"\0" + IDS[index % len(IDS)].to_bytes(4, "big")
    home: bool = False


SCENES = (
    Scene("ids", RecordChange(ids=IdChange()), IdTable.of(value={n: n + 1000 for n in IDS})),
    Scene("a constant header", RecordChange(headers=(AddedHeader(name="env", text="prod"),))),
    Scene(
        "Redpanda's headers",
        RecordChange(
            headers=(
                AddedHeader(name=PROVENANCE, content=HeaderContent.REDPANDA_PROVENANCE),
                AddedHeader(name="redpanda-migrator-offset", content=HeaderContent.REDPANDA_OFFSET),
            )
        ),
    ),
    Scene(
        "provenance drop, half",
        RecordChange(drop=(DropRule(name="home", provenance=PROVENANCE),)),
        home=True,
    ),
    Scene("recompression to zstd", RecordChange(codec="zstd")),
    Scene(
        "Glue to Confluent",
        RecordChange(ids=IdChange(key=None, framing=Framing.FROM_GLUE)),
        IdTable.of(value=dict(zip(GLUE, IDS, strict=True))),
        lambda index: b"\3\0" + GLUE[index % len(GLUE)].bytes,
    ),
)
HEAD = ("data", "change", "loop alone: MiB/s", "CPU s per GiB: open", "change", "write", "together",
        "codecs alone: open", "write", "plain copying")  # fmt: skip


def micro() -> list[tuple[str, ...]]:
    """Return a row for each change on each kind of data."""
    return [_row(data, scene) for data in (SETS[0], SETS[2]) for scene in SCENES]


def _row(data: DataSet, scene: Scene) -> tuple[str, ...]:
    count = data.per_batch * max(20, 20_000 // data.per_batch)
    batches, size = framed_batches(data, scene.frame, count, b"home" if scene.home else b"")
    buffer = np.frombuffer(bytearray(b"".join(batches)), np.uint8)
    number_batches(buffer)
    found = scan(buffer, 0, len(buffer))
    positions, lengths = found[:, POSITION].copy(), found[:, LENGTH].copy()
    changer = Changer(change=scene.change, origin=ORIGIN, ids=scene.ids)
    # As a slice does: small batches together, not more than becomes a batch of the usual size.
    step = MOST // len(batches[0]) if len(batches[0]) < SMALL else 1
    parts = [(positions[at : at + step], lengths[at : at + step])
             for at in range(0, len(positions), step)]  # fmt: skip
    opened = [open_batches(buffer, *part) for part in parts]
    changed = [changer.apply(each).opened for each in opened]
    written = [one for each in changed for one in reencode_opened(each, max_bytes=MOST)]
    spare = buffer.copy()  # stamping takes the base offsets away
    gib = size / (MIB << 10)

    def whole() -> None:
        for part in parts:
            made = changer.apply(open_batches(buffer, *part))
            reencode_opened(made.opened, max_bytes=MOST)

    def each(function: Callable[[], object]) -> str:
        return f"{_best(function) / gib:.2f}"

    alone = _best(lambda: [changer.apply(each) for each in opened])
    return (
        data.name, scene.name, f"{size / MIB / alone:,.0f}",
        each(lambda: [open_batches(buffer, *part) for part in parts]),
        each(lambda: [changer.apply(one) for one in opened]),
        each(lambda: [reencode_opened(one, max_bytes=MOST) for one in changed]),
        each(whole),
        *_codecs(data.codec, batches, [one.batch for one in written], each),
        f"{_best(lambda: stamp(spare, scan(spare, 0, len(spare)), 1 << 40, 7)) / gib:.3f}",
    )  # fmt: skip


def _codecs(
    codec: int,
    before: Sequence[bytes],
    after: Sequence[bytearray],
    told: Callable[[Callable[[], object]], str],
) -> tuple[str, str]:
    """Return what it takes to open what came, and to compress what is written."""
    packed = [np.frombuffer(one, np.uint8)[HEADER_SIZE:] for one in before]
    kinds = {BatchHeader.read(one).attributes & CODEC_MASK for one in after}
    (kind,) = kinds
    records = [decompress(kind, bytes(one[HEADER_SIZE:])) for one in after]
    return (
        told(lambda: [decompress(codec, one) for one in packed]),
        told(lambda: [compress(kind, one) for one in records]),
    )


def _best(function: Callable[[], object]) -> float:
    """Return the least CPU seconds of several calls, behind a first one that warms up."""
    function()
    taken = []
    for _ in range(REPEAT):
        began = time.process_time()
        function()
        taken.append(max(time.process_time() - began, 1e-9))
    return min(taken)


def framed_batches(
    data: DataSet, frame: Callable[[int], bytes], count: int, home: bytes = b""
) -> tuple[list[bytes], int]:
    """Return batches of records whose values have a frame, and the size of the records.

    Args:
        data: Its values, batches and codec.
        frame: Returns the frame of the value of a number.
        count: How many records.
        home: Every second record of a batch says that it comes from this cluster; none, if empty.
    """
    pool = [frame(index) + value for index, value in enumerate(data.values(random.Random(1)))]
    rng, made, size = np.random.default_rng(1), [], 0
    for first in range(0, count, data.per_batch):
        chosen = rng.integers(0, len(pool), data.per_batch).tolist()
        rows: list[dict[str, Any]] = []
        for place, index in enumerate(chosen):
            headers = [{"name": b"schema", "value": b"order/3"}]
            if home and place % 2:
                headers.append({"name": PROVENANCE.encode(), "value": home})
            rows.append({"offset": 0, "timestamp": first, "key": b"k%06d" % index,
                         "value": pool[index], "headers": headers})  # fmt: skip
        size += sum(len(row["key"]) + len(row["value"]) + 13 for row in rows)
        made.append(bytes(encode(pa.RecordBatch.from_pylist(rows, schema=RECORDS), data.codec)))
    return made, size
