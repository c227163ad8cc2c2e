"""The size of the next fetch responses, so that all readers stay within the pool's limit."""

from __future__ import annotations

from towpath.cluster.data.buffers import BufferPool

PARTITION_BYTES = 1 << 20
"""Most bytes of a partition in an answer, where many are fetched."""
RESPONSE_BYTES = 8 << 20
"""Most bytes of an answer."""
_READER_BYTES = 8 << 20
_LEAST_READER_BYTES = 64 << 10
"""What a reader may always hold, however many readers there are and however scarce memory is."""
_OVERHEAD = 256 << 10
"""What an answer may have beyond the requested bytes without a huge batch in it: some tens of bytes
for each partition."""


class FetchBudget:
    """Grants pool memory to fetch requests in flight, one for each broker.

    Attributes:
        pool: The memory.
        share: Bytes that each reader may always hold.
        partition_bytes: Most bytes of a partition in an answer. A single batch may be larger.
        promised: The requested bytes, by broker.
    """

    def __init__(self, pool: BufferPool, share: int, response_bytes: int = RESPONSE_BYTES) -> None:
        self.pool, self.share = pool, share
        self._response_bytes = response_bytes
        self.partition_bytes = PARTITION_BYTES
        self.promised: dict[int, int] = {}
        self._least = PARTITION_BYTES
        """The smallest answer worth requesting. It grows with the batches of the source."""

    def __contains__(self, node: int) -> bool:
        """Whether a request to the broker is in flight."""
        return node in self.promised

    @property
    def room(self) -> int:
        """Bytes that one reader may hold now."""
        least = _LEAST_READER_BYTES if self.pool.scarce else PARTITION_BYTES
        return max(least, min(_READER_BYTES, self.share))

    @property
    def next_size(self) -> int:
        """Largest size of the next answer in bytes, 0 if memory must be awaited.

        If readers hold little, an answer is requested in any case, so that even a batch that is
        larger than all memory gets through.
        """
        pool = self.pool
        if pool.left < self._least and (pool.promised or pool.held > pool.limit // 2):
            return 0
        return max(self._least, min(self._response_bytes, pool.left // 2))

    def promise(self, node: int, size: int) -> None:
        """Record that a request for `size` bytes was sent to a broker."""
        self.promised[node] = size
        self.pool.promised += size

    def came(self, node: int, size: int) -> None:
        """Record that a response of `size` bytes came, which the pool now counts itself."""
        promised = self.promised[node]
        self.pool.promised -= promised
        self.promised[node] = 0
        if size > promised + _OVERHEAD:
            self._least = max(self._least, size)

    def over(self, node: int) -> None:
        """Record that a broker's response was handled, or that its request was lost."""
        self.pool.promised -= self.promised.pop(node, 0)
