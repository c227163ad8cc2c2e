"""Parked readers, which are fetched for again when they move or after a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic

from towpath.model.nouns import TopicPartition
from towpath.records.source.pace import Clockwork
from towpath.records.source.reader import R
from towpath.runtime.backoff import BackOff

_PARKED = BackOff(first=10.0, longest=300.0)
"""Seconds before a parked reader is fetched for again, doubled each time."""


class Parked(Generic[R]):
    """Readers parked because they could not use the data they got.

    A reader stays parked until it moves again, even if it is fetched for after a while.

    Args:
        reactor: Calls back later.
        fetch: Fetches for a reader again.
    """

    def __init__(self, reactor: Clockwork, fetch: Callable[[R], None]) -> None:
        self._reactor, self._fetch = reactor, fetch
        self._parked: dict[TopicPartition, tuple[R, int]] = {}
        """The readers, each with how often in a row it was parked."""

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._parked

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._parked)

    def add(self, reader: R) -> None:
        """Park a reader; a parked reader waits longer each time."""
        _, times = self._parked.get(reader.source, (reader, 0))
        self._parked[reader.source] = reader, times + 1
        self._try_later(reader, times + 1)

    def leave(self, tp: TopicPartition) -> bool:
        """Unpark a reader, and return whether it was parked."""
        return self._parked.pop(tp, None) is not None

    def _try_later(self, reader: R, times: int) -> None:
        self._reactor.later(_PARKED.after(times), lambda: self._try(reader, times))

    def _try(self, reader: R, times: int) -> None:
        known, since = self._parked.get(reader.source, (None, 0))
        if known is not reader or since != times:
            return
        if reader.pending:
            self._try_later(reader, times)
        else:
            self._fetch(reader)
