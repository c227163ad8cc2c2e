"""The state of reading an archive for one lane."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from towpath.archive.read.feed.supply import Chunk, Chunks, Supply
from towpath.cluster.data.buffers import Frame
from towpath.records.lane.lane import Lane


@dataclass(eq=False, slots=True)
class LaneReading:
    """The reading of an archive for one lane, from the lane's next expected record.

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
        """Close the chunks, and release what they read from."""
        chunks, self.chunks = self.chunks, None
        if chunks is not None:
            chunks.close()


class Growing(Protocol):
    """Protocol of an archive that grows while it is read."""

    def refresh(self) -> bool:
        """Read new entries of the archive's log. Blocking. Returns whether there were any.

        Raises:
            TowpathError: The archive cannot be asked.
        """
        ...

    def has_more(self, lane: Lane) -> bool:
        """Return whether the archive has records that a lane has not read yet."""
        ...
