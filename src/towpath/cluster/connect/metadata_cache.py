"""Cache of decoded metadata answers, which brokers often repeat unchanged."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from towpath.cluster.metadata import Metadata

_LARGE = 64 << 10
"""Bytes from which on an answer is kept: decoding smaller ones costs next to nothing."""
_KEPT = 4
"""Answers: some questions about a cluster differ, and brokers may list topics in another order."""
_CORRELATION = 4
"""Length of the correlation id, which is another one in each answer."""


class RememberedMetadata:
    """Decodes metadata answers with a cache; thread-safe.

    Args:
        read: Decodes the bytes of an answer to a request.
    """

    def __init__(self, read: Callable[[Any, bytes], Metadata]) -> None:
        self._read = read
        self._kept: OrderedDict[bytes, Metadata] = OrderedDict()
        self._lock = Lock()

    def read(self, request: Any, data: bytes) -> Metadata:
        """Decode the metadata in an answer, which begins with its correlation id."""
        if len(data) < _LARGE:
            return self._read(request, data)
        body = data[_CORRELATION:]
        with self._lock:
            found = self._kept.pop(body, None)
        if found is None:
            found = self._read(request, data)
        with self._lock:
            self._kept[body] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found
