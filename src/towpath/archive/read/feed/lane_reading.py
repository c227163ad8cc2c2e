"""The reading of archives for one lane."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from towpath.archive.read.feed.supply import Chunk, Chunks, Supply
from towpath.cluster.data.buffers import Frame
from towpath.records.lane.lane import Lane


@dataclass(eq=False, slots=True)
class LaneReading:
    """The reading for one lane, from where it expects the next record.

    Attributes:
        chunks: What is read, `None` before the first chunk.
        ahead: A chunk that waits until the lane has room.
        busy: A thread reads the next chunk.
        over: Nothing more is read: all was handed on, or the reading was replaced.
        since: When the lane had room last.
        weight: Bytes of memory that it takes, about.
    """

    lane: Lane
    supply: Supply
    chunks: Chunks | None = None
    ahead: tuple[Frame, Chunk] | None = None
    busy: bool = False
    over: bool = False
    since: float = field(default_factory=time.monotonic)
    weight: int = 0

    def close_chunks(self) -> None:
        """Let go of what is read from."""
        chunks, self.chunks = self.chunks, None
        if chunks is not None:
            chunks.close()


class Growing(Protocol):
    """An archive that grows while it is read."""

    def refresh(self) -> bool:
        """Read what was added to it. Blocking. Returns whether it was anything.

        Raises:
            TowpathError: The archive cannot be asked.
        """
        ...

    def has_more(self, lane: Lane) -> bool:
        """Whether there is more than a lane has taken in."""
        ...
