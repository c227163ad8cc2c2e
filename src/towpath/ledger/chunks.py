"""Chunks of an offset map's packed runs: their ledger entries, and merging. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from towpath.ledger.entries import Removed, Runs
from towpath.ledger.keys import new_name
from towpath.ledger.offset_runs import joined
from towpath.ledger.packed import Packer, unpack
from towpath.model.lazy import Lazy
from towpath.model.nouns import LinkName, ProducerId, TargetOffset, TopicPartition
from towpath.runtime.clock import now_ms

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")

LARGE_RUNS = 1 << 16
"""Number of runs from which on a chunk is full."""
LARGE_BYTES = 256 << 10
"""Size from which on a chunk is full, in bytes before compression."""
_MANY = 8
"""Minimum number of chunks to merge at once, so that no chunk is merged over and over."""


def is_full(packer: Packer) -> bool:
    """Return whether a chunk is too large for further runs."""
    return packer.count >= LARGE_RUNS or packer.size >= LARGE_BYTES


@dataclass(frozen=True, slots=True)
class Incarnation:
    """The incarnation of a source partition whose offset map a chunk belongs to."""

    link: LinkName
    tp: TopicPartition
    producer_id: ProducerId

    def chunk(self, packer: Packer, name: str) -> Runs:
        """Return the ledger entry for a chunk of runs."""
        return Runs(
            link=self.link,
            topic=self.tp.topic,
            partition=self.tp.partition,
            producer_id=self.producer_id,
            runs=(),
            packed=packer.text(),
            chunk=name,
            at=now_ms(),
            count=packer.count,
            end=TargetOffset(packer.end),
        )


def slim(chunk: Runs) -> Runs:
    """Return a chunk without its runs if it is already too large to be merged."""
    return replace(chunk, packed="") if _is_large(chunk) else chunk


def _is_large(chunk: Runs) -> bool:
    half = chunk.count >= LARGE_RUNS // 2 or len(chunk.packed) >= LARGE_BYTES // 2
    return half or not chunk.packed


def tidied(
    of: Incarnation, chunks: Collection[Runs], floor: int
) -> tuple[list[Runs], list[Removed]]:
    """Return the merged chunks, to be written first, and the chunks to remove.

    Args:
        of: What all chunks are about.
        chunks: Chunks that no writer changes any more.
        floor: Target offset before which the target holds no record.
    """
    gone = [chunk for chunk in chunks if chunk.end <= floor]
    small = [chunk for chunk in chunks if chunk.end > floor and not _is_large(chunk)]
    merged = small if len(small) >= _MANY else []
    useless = [Removed(Runs.kind, of.link, chunk.about()) for chunk in (*gone, *merged)]
    return list(_merged(of, merged, floor)), useless


def _merged(of: Incarnation, chunks: Collection[Runs], floor: int) -> Iterator[Runs]:
    if not chunks:
        return
    table = joined(np.concatenate([unpack(chunk.packed) for chunk in chunks]))
    packer = Packer()
    for start, there, length in table[table[:, 1] + table[:, 2] > floor].tolist():
        packer.add((start, there, length))
        if is_full(packer):
            yield of.chunk(packer, new_name())
            packer = Packer()
    if packer.count:
        yield of.chunk(packer, new_name())
