"""How much the next fetch answers may bring, so that all readers stay within the pool's limit."""

from __future__ import annotations

from towpath.cluster.data.buffers import BufferPool

PARTITION_BYTES = 1 << 20
"""Most bytes of a partition in an answer; one batch may be larger."""
RESPONSE_BYTES = 8 << 20
"""Most bytes of an answer."""
_READER_BYTES = 8 << 20
_LEAST_READER_BYTES = 64 << 10
"""What a reader may hold in any case, however many there are and however scarce memory is."""
_OVERHEAD = 256 << 10
"""What an answer may have beyond the bytes that were asked for without a single huge batch in it:
some tens of bytes for each partition."""


class FetchBudget:
    """Promises memory of the pool to the requests under way, one to each broker.

    Attributes:
        pool: The memory.
        share: Bytes that each reader may always hold.
        promised: The bytes that were asked for, by broker.
    """

    def __init__(self, pool: BufferPool, share: int, response_bytes: int = RESPONSE_BYTES) -> None:
        self.pool, self.share = pool, share
        self._response_bytes = response_bytes
        self.promised: dict[int, int] = {}
        self._least = PARTITION_BYTES
        """The smallest answer worth asking for: it grows with the batches of the source."""

    def __contains__(self, node: int) -> bool:
        """Whether a request to the broker is under way."""
        return node in self.promised

    @property
    def room(self) -> int:
        """Bytes that a reader may hold now."""
        least = _LEAST_READER_BYTES if self.pool.scarce else PARTITION_BYTES
        return max(least, min(_READER_BYTES, self.share))

    @property
    def next_size(self) -> int:
        """How large the next answer may be; 0 where it has to wait for memory.

        Where little is held, one is asked for in any case, so that even a batch for which there is
        no room at all gets through.
        """
        pool = self.pool
        if pool.left < self._least and (pool.promised or pool.held > pool.limit // 2):
            return 0
        return max(self._least, min(self._response_bytes, pool.left // 2))

    def promise(self, node: int, size: int) -> None:
        """A request for `size` bytes goes to a broker."""
        self.promised[node] = size
        self.pool.promised += size

    def came(self, node: int, size: int) -> None:
        """An answer of `size` bytes came, which the pool counts itself from now on."""
        promised = self.promised[node]
        self.pool.promised -= promised
        self.promised[node] = 0
        if size > promised + _OVERHEAD:
            self._least = size

    def over(self, node: int) -> None:
        """The request to a broker is dealt with, or lost."""
        self.pool.promised -= self.promised.pop(node, 0)
