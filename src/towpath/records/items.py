"""What goes through a partition's queue on its way to the target, in source order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.client import Client
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.model.reasons import Reason


@dataclass(slots=True, kw_only=True)
class Batch:
    """One batch to be sent, stamped; it covers the source offsets [base, end).

    `pieces` are the runs (source offset, length) of its records where they have holes between. One
    that was `sent` may lie on the target already, so it goes again as it is.
    """

    data: memoryview
    frame: Frame | None
    base: SourceOffset
    end: SourceOffset
    count: int
    sequence: int
    crc: int
    epoch: int
    time: int
    pieces: tuple[tuple[SourceOffset, int], ...] | None = None
    sent: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    def release(self) -> None:
        """Let the bytes go."""
        if self.frame is not None:
            self.frame.release()
            self.frame = None


@dataclass(slots=True)
class Fill:
    """Source offsets [base, end) that hold nothing a consumer may see.

    `epoch` is the leader epoch of the last one, -1 where it is not known. `holes` is how many of
    them compaction left empty. Those that were `lost` held records that cannot be had any more, so
    nothing takes their place; the end is before the base where the source log was cut.
    """

    base: SourceOffset
    end: SourceOffset
    epoch: int = -1
    holes: int = 0
    lost: bool = False

    def joins(self, behind: Fill) -> bool:
        """Whether this and the one behind it are one."""
        return self.end == behind.base and self.lost == behind.lost

    def cut(self, at: SourceOffset) -> tuple[Fill, Fill]:
        """Return the part before the offset `at`, and the rest."""
        holes = min(self.holes, at - self.base)
        first = Fill(self.base, at, -1, holes)
        return first, Fill(at, self.end, self.epoch, self.holes - holes)


@dataclass(slots=True)
class BecomeMapped:
    """From source offset `base` on, offsets cannot stay the same."""

    base: SourceOffset
    why: Reason


@dataclass(slots=True)
class Stop:
    """The source has nothing more; behind all others the partition stops, and `why`."""

    why: Reason


@dataclass(slots=True, eq=False)
class Wait:
    """Nothing behind it is sent before something has happened outside of both clusters' logs.

    Attributes:
        why: What the partition waits for.
        ready: Returns whether it has happened. Blocking; it has a time limit of its own.
        asked: How often that was asked.
        over: It has happened.
    """

    why: Reason
    ready: Callable[[], bool]
    asked: int = 0
    over: bool = False


Item = Batch | Fill | BecomeMapped | Stop | Wait


class TransactionalWriter(Protocol):
    """Who writes a target partition in transactions, where our producer ids are refused."""

    def write(self, client: Client, batches: Sequence[Batch]) -> list[TargetOffset]:
        """Write batches in one transaction; return the base offset of each. Blocking."""
