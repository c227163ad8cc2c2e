"""Sentences about the cutover of a link, and about its clients' writes since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from towpath.ledger.books import LinkBooks
from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.model.amounts import count, counted, shortened
from towpath.runtime.clock import readable

_NAMED = 5


def cutovers(rows: Iterable[PartitionStatus]) -> str:
    """Return a sentence about the cutover of partitions; "" if there was none.

    Offsets are counted, so markers of the clients' transactions count, too. Behind a promotion the
    fences of the link do as well: they stand somewhere between the clients' records.
    """
    cut = [row for row in rows if row.cut is not None]
    if not cut:
        return ""
    last = readable(max(row.cut.at for row in cut if row.cut is not None))
    own = sum(row.clients_own for row in cut)
    is_promoted = all(row.state is State.PROMOTED for row in cut)
    if not own:
        what = "promoted" if is_promoted else "cut over"
        return f"{counted(len(cut), 'partition')} {what} on {last}"
    if is_promoted:
        return f"{count(own)} offsets since the promotion of {last} are of clients and of fences"
    return f"{count(own)} offsets behind the cutover of {last} are the clients' own"


def left_at_source(rows: Iterable[PartitionStatus]) -> str:
    """Return a sentence about what the source has of topics that are over; "" for nothing."""
    rows = [row for row in rows if row.state in OVER and row.lag_records > 0]
    left = sum(row.lag_records for row in rows)
    if not left:
        return ""
    states = {row.state for row in rows}
    what = {
        State.FAILED_OVER: "failed over",
        State.PROMOTED: "was promoted",
        State.STOPPED_BY_HAND: "was stopped by hand",
    }
    words = " or ".join(word for state, word in what.items() if state in states)
    return (
        f"{counted(left, 'offset')} of the source, of what {words}, will not be copied"
        f"{_kept([row for row in rows if row.keepable])}"
    )


def _kept(rows: Sequence[PartitionStatus]) -> str:
    """Return how much of what came to the source afterwards is kept aside, for a sentence."""
    if not rows:
        return ""
    left = [row for row in rows if row.lag_records > row.kept]
    kept = Counter[str]()
    for row in rows:
        kept[row.topic] += row.strays
    named = [f"{counted(number, 'record')} of {topic}" for topic, number in (+kept).items()]
    told = f"kept aside: {shortened(named, _NAMED)}, replay with `towpath salvage replay FILE`"
    if not left:
        return f"; all of it is {told}" if named else "; it has no records"
    offsets = sum(row.lag_records - row.kept for row in left)
    how = "`towpath salvage keep FILE` keeps them aside"
    if all(row.state is State.PROMOTED for row in left):
        how += ", as a run does by itself (`gateway.keep_strays`)"
    return (f"; {told}" if named else "") + f"; not kept: {counted(offsets, 'offset')}; {how}"


def still_running(books: LinkBooks) -> str:
    """Return a warning about copying after a cutover; "" if there was none.

    Topics that failed over are not copied any more, so they need none.
    """
    cut = [
        each.cut.at
        for tp, each in books.partitions.items()
        if each.cut is not None and books.closed(tp.topic) is None
    ]
    if not cut:
        return ""
    return (
        f"the link was cut over on {readable(max(cut))}, so clients may write to the mirror topics;"
        " new records of the source are copied behind theirs, at other offsets; stop"
        " `towpath run` unless the clients went back to the source"
    )
