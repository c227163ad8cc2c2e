"""A leader that forgets, as copiers that race meet it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.copying.lanes import ABORT, marker, tp
from tests.support.logs.batches import batch, numbered
from towpath.cluster.admin.markers import Marker
from towpath.cluster.data.produce import Produced
from towpath.wire import batch as wire
from towpath.wire.plain import Record

TP = tp()
NOTHING = Record(None, b"of others")


@dataclass
class Leader:
    """What a leader does with batches and markers (`ProducerAppendInfo`), and what it forgets."""

    log: list[bytearray] = field(default_factory=list)
    states: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    """Epoch, last sequence, and whether it may be forgotten, by producer id."""
    end: int = 0
    start: int = 0

    def append(self, data: bytes) -> Produced:
        header = wire.BatchHeader.read(data)
        epoch, last, _ = self.states.get(header.producer_id, (-1, -1, True))
        if header.producer_epoch < epoch:
            return Produced(TP, 47, -1)
        if epoch >= 0 and header.base_sequence != last + 1:
            return Produced(TP, 45, -1)
        said = Produced(TP, 0, self._add(bytearray(data), header.count))
        sequence = header.base_sequence + header.count - 1
        self.states[header.producer_id] = header.producer_epoch, sequence, True
        return said

    def mark(self, wanted: Marker) -> int:
        epoch, _, _ = self.states.get(wanted.producer_id, (-1, -1, True))
        if wanted.epoch < epoch:
            return 47
        self._add(marker(0, wanted.producer_id, ABORT), 1)
        self.states[wanted.producer_id] = wanted.epoch, -1, False
        return 0

    def forget(self) -> None:
        """Forget all who wrote nothing but old records."""
        self.states = {number: s for number, s in self.states.items() if not s[2]}

    def delete_before(self, offset: int) -> None:
        """Delete the records of whole batches before an offset."""
        self.start = offset
        self.log = [data for data in self.log if last_of(data) >= offset]

    def write_foreign(self) -> None:
        """Append a record of another writer."""
        self._add(batch(numbered([NOTHING])), 1)

    def _add(self, data: bytearray, count: int) -> int:
        base, self.end = self.end, self.end + count
        data[:8] = base.to_bytes(8, "big")
        self.log.append(data)
        return base


def last_of(data: bytearray) -> int:
    """Return the offset of the last record of a batch."""
    header = wire.BatchHeader.read(data)
    return header.base_offset + header.last_offset_delta
