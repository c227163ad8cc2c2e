"""The search for a group's target offset in another tool's mirror topic, in few requests."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.groups import foreign
from towpath.groups.reading import Log
from towpath.ledger.offsets import TranslatedOffset
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.wire.plain import Record


def translate(source: Log, target: Log, offset: SourceOffset) -> TranslatedOffset[TargetOffset]:
    """Return the offset at which a consumer continues in a mirror topic of another tool.

    Args:
        source: The source partition.
        target: Its copy.
        offset: The committed offset at the source.

    Raises:
        ClusterError: A cluster could not be asked.
        CorruptBatchError: A batch is damaged.
    """
    last = source.last_before(offset, source.start)
    start = TargetOffset(target.start)
    place = foreign.Place(offset, last, start, TargetOffset(target.end))
    answer = foreign.at_once(place)
    if answer is not None:
        return answer
    guess = start if last is None or last.timestamp < 0 else _at_time(target, last.timestamp)
    found = next(_from(target, min(guess, place.end - 1), place.end), None)
    first = found[0] if found else target.last_before(place.end, start)
    if first is not None and foreign.source_offset(first) is not None:
        return _by_headers(target, foreign.HeaderSearch(place, guess), place.end)
    stamped = found is not None and found[1]
    if stamped and last is not None:
        guess = max(start, _at_time(target, max(0, last.timestamp - foreign.CLOCKS)))
    near = [record for record, _ in _from(target, guess, min(place.end, guess + 1))]
    return foreign.by_time(place, guess, near, stamped=stamped)


def _at_time(target: Log, ms: int) -> TargetOffset:
    return TargetOffset(target.at_time(ms))


def _from(target: Log, first: int, end: int) -> Iterator[tuple[Record, bool]]:
    return ((each, stamped) for each, stamped in target.records(first, end) if each.offset >= first)


def _by_headers(
    target: Log, search: foreign.HeaderSearch, end: int
) -> TranslatedOffset[TargetOffset]:
    while search.at is not None:
        record = next((each for each, _ in _from(target, search.at, end)), None)
        if record is None:
            search.nothing()
            continue
        there = foreign.source_offset(record)
        if there is None:  # somebody else wrote it
            break
        search.told(TargetOffset(record.offset), there)
    return search.answer
