"""Protocol of the source of archived batches for the feed of a restore."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol

from towpath.model.nouns import SourceOffset
from towpath.wire.aborted import Aborted
from towpath.wire.batch import Buffer
from towpath.wire.packing import Packed


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive batches of one partition.

    Attributes:
        data: The batches. Their headers are written to. Offsets before and between them that are
            in none hold no record.
        end: The offset at which the next chunk begins.
        told: The offset behind the last batch; before `end`, there is no record either.
        aborted: Producer id and first offset of each aborted transaction among the batches.
        memory: The memory in which the batches lie, if it is to be used again (`used_again`).
    """

    data: Packed
    end: SourceOffset
    told: SourceOffset = SourceOffset(0)
    aborted: Aborted = ()
    memory: Buffer | None = None


Chunks = Generator[Chunk, None, None]


class Supply(Protocol):
    """Protocol of a source of one partition's archived batches. Blocking; for one thread."""

    @property
    def weight(self) -> int:
        """Approximate bytes of memory that reading takes, without the chunks already yielded."""
        ...

    def read(self, first: SourceOffset) -> Chunks:
        """Yield the batches from offset `first` on, in order, to the end of the restored range.

        The first chunk may begin with a batch that has records before `first`.

        Raises:
            WithheldError: Something that the archive should have cannot be read now.
            TowpathError: The archive cannot be asked at all.
        """
        ...
