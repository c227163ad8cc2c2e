"""Count of source records in a range that the target has deleted."""

from __future__ import annotations

from towpath.compare.changed import SourceChange, UncomparableError
from towpath.compare.cursor import Cursor, Reader
from towpath.compare.join import Portion
from towpath.compare.work import Comparison, Counts, Range
from towpath.model.errors import CorruptBatchError
from towpath.wire import batch as wire
from towpath.wire.digest import Digest


def count_deleted(part: Range, source: Reader, change: SourceChange | None) -> Comparison:
    """Count the copied records of the source that the target has deleted.

    A damaged batch ends the count, and so does a record of which it is not known whether it was
    copied; the result then says up to where it counts.

    Args:
        part: The range.
        source: Reads the source.
        change: What changed the records when they were copied, and left some out.

    Raises:
        ClusterError: The source could not be reached, or refused to be read.
    """
    log = Cursor(source, part.source, part.first, part.end, None, twin=part.twin)
    counts, stopped = Counts(), ""
    first, end = int(part.end), int(part.first)
    while not (log.done or stopped):
        try:
            log.fill()
            found = _offsets(log, change)
        except (CorruptBatchError, UncomparableError) as error:
            stopped = f"from source offset {log.position} on: {error}"
            continue
        counts.deleted += len(found)
        counts.due += int((found < part.due).sum())
        if len(found):
            first, end = min(first, int(found[0])), int(found[-1]) + 1
        log.advance(log.have)
    return Comparison(
        source=part.source,
        target=part.target,
        first=min(first, end),
        end=end,
        source_digest=Digest(),
        target_digest=Digest(),
        counts=counts,
        bytes=log.bytes,
        tally=change.tally if change is not None else (),
        stopped=stopped,
        gone=True,
    )


def _offsets(log: Cursor, change: SourceChange | None) -> wire.Table:
    """Return the offsets of the records that were read, without those that were left out."""
    pieces = log.before(log.have)
    if change is None:
        return Portion(pieces, log.position, log.have).offsets()
    return change.portion(pieces, log.position, log.have).offsets()
