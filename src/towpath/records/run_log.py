"""The closed runs of a partition's offset map, packed into chunks for the ledger. Pure.

A mapped partition may close many runs each second, one for each transaction of the source. The
receipt holds the latest of them. From time to time they move into a chunk, a ledger entry that is
written again under its key until it is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from towpath.ledger.chunks import Incarnation, is_full
from towpath.ledger.entries import Run, Runs
from towpath.ledger.keys import is_silent, new_name
from towpath.ledger.packed import Packer, Table
from towpath.model.nouns import LinkName, ProducerId, TopicPartition
from towpath.runtime.clock import now_ms

_TOGETHER = 4096
TAIL = 512
"""Most runs in a receipt. A receipt is written each second, so it must stay small."""


def again(chunk: Runs) -> Runs:
    """Return a chunk under another ledger key, as its first write may still arrive."""
    return replace(chunk, chunk=new_name(), at=now_ms())


class RunLog:
    """The runs of one partition that are not in a finished chunk.

    Attributes:
        tail: The runs in the receipt, in order.
    """

    def __init__(self, link: LinkName, tp: TopicPartition, producer: ProducerId) -> None:
        self._of = Incarnation(link, tp, producer)
        self.tail: dict[Run, None] = {}
        self._packed = Packer()
        self.finish()

    def finish(self) -> None:
        """Begin a new chunk, as an earlier write of the present one may still arrive."""
        self._chunk, self._name, self._at = Packer(), new_name(), now_ms()

    def packed(self) -> str:
        """Return the packed runs that go into the receipt."""
        return self._packed.text()

    def add(self, runs: Iterable[Run]) -> Iterator[Runs]:
        """Add closed runs; yield the chunks to write before the next receipt."""
        for run in runs:
            if run[2] and run not in self.tail:  # an opening may bring known runs again
                self.tail[run] = None
                self._packed.add(run)
        if len(self.tail) > TAIL:
            yield from self._move()

    def add_all(self, runs: Table) -> Iterator[Runs]:
        """Add many runs at once; yield the chunks to write before the next receipt."""
        if len(runs) <= TAIL:
            yield from self.add((start, there, length) for start, there, length in runs.tolist())
            return
        yield from self._move()
        for first in range(0, len(runs), _TOGETHER):
            self._chunk.add_all(runs[first : first + _TOGETHER])
            if is_full(self._chunk):
                yield self._entry()
                self.finish()
        if self._chunk.count:
            yield self._entry()

    def _move(self) -> Iterator[Runs]:
        if is_silent(self._at):
            self.finish()
        for run in self.tail:
            self._chunk.add(run)
            if is_full(self._chunk):
                yield self._entry()
                self.finish()
        self.tail, self._packed = {}, Packer()
        if self._chunk.count:
            yield self._entry()

    def _entry(self) -> Runs:
        self._at = now_ms()
        return self._of.chunk(self._chunk, self._name)
