"""Findings collected while a range is compared."""

from __future__ import annotations

from towpath.compare.cursor import Cursor
from towpath.compare.work import Counts, RecordDifference
from towpath.ledger.offsets import OffsetMap
from towpath.model.nouns import Side, SourceOffset
from towpath.wire.digest import Digest


class Findings:
    """Digests of both sides, counts, notes, and the first difference.

    Attributes:
        first: The first difference, in the order of the target.
    """

    def __init__(self, offsets: OffsetMap) -> None:
        self._map = offsets
        self.source_digest, self.target_digest = Digest(), Digest()
        self.counts = Counts()
        self.first: RecordDifference | None = None
        self.notes: list[str] = []

    def add(self, source: Digest, target: Digest) -> None:
        """Add the digests of the next records of each side."""
        self.source_digest = self.source_digest.then(source)
        self.target_digest = self.target_digest.then(target)

    def note(self, text: str) -> None:
        """Add a note."""
        self.notes.append(text)

    def differs(self, source: int, target: int, what: str) -> None:
        """Record a difference, which is kept if it is the first one."""
        found = RecordDifference(source, target, what)
        if self.first is None or self._place(found) < self._place(self.first):
            self.first = found

    def read(self, source: Cursor, target: Cursor) -> None:
        """Record how far both sides were read, and other writers' records on the target."""
        for side, cursor in ((Side.SOURCE, source), (Side.TARGET, target)):
            if cursor.log_end is not None:
                self.note(
                    f"the {side} log ends at offset {cursor.log_end},"
                    f" but records were copied up to offset {cursor.end}"
                )
        self.counts.uncommitted = target.uncommitted
        if target.uncommitted:
            self.note(
                "some records on the target are seen only by consumers with"
                " isolation.level=read_uncommitted,"
                f" the first at target offset {target.uncommitted_at}"
            )

    def _place(self, found: RecordDifference) -> int:
        if found.target_offset >= 0:
            return found.target_offset
        return self._map.next_target(SourceOffset(found.source_offset))
