"""The display of a link's status as tables; `status_json.py` has its JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType

from towpath.cli.show.fold import folded
from towpath.cli.show.grid import Cell, Grid
from towpath.cli.show.output import line
from towpath.ledger.entries import FROM_ARCHIVE, FROM_TWIN, LinkStage
from towpath.mirror.show import limits
from towpath.mirror.show.deleted import deleted
from towpath.mirror.show.states import counts, marked
from towpath.mirror.status.before_start import sentence as before_start
from towpath.mirror.status.changed import ChangedParts
from towpath.mirror.status.cutovers import cutovers, left_at_source
from towpath.mirror.status.foretold import kept_lines, risk_lines, unforeseen_lines
from towpath.mirror.status.open_transaction import oldest
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.set_aside import summed as summed_aside
from towpath.mirror.status.totals import SortOrder, Totals, ordered, totals
from towpath.mirror.status.transformed import DROPPED, LOST, MODE, READ
from towpath.mirror.status.whole_link import LinkStatus
from towpath.model.amounts import count, counted, size, span
from towpath.model.reasons import ReasonCode
from towpath.plan.lease import lease_lines
from towpath.runbook import pointers
from towpath.runtime.clock import readable

_NUMBERS = ("copied to", "source end", "written to", "target end", "lag", "lag time")
_HEADERS = ("partition", "target", "state", "mode", *_NUMBERS)
_SPARE = ("target", "mode", "written to", "lag time", "target end")
_UNKNOWN = "?"


def _states(seen: LinkStatus) -> Iterator[str]:
    """Yield the states of the link and of its topics; those of promoted topics as such."""
    promoted = {row.topic for row in seen.rows if row.state is State.PROMOTED}
    for each in seen.states:
        is_moved = each.state == LinkStage.FAILED_OVER and each.topic in promoted
        yield each.told(promoted=is_moved)


def link_picture(
    seen: LinkStatus, order: SortOrder = SortOrder.TROUBLE, most: int | None = None
) -> RenderableType:
    """Return the status of a link for people, with a limited number of partitions."""
    lines = [f"step {e.do} {e.name} failed at {readable(e.at)}: {e.error}" for e in seen.failed]
    lines += lease_lines(seen.lease)
    lines += _states(seen)
    lines += map(str, seen.pauses)
    lines += filter(None, (cutovers(seen.rows), left_at_source(seen.rows)))
    lines += map(str, seen.late)
    lines += [str(seen.overtaken)] if seen.overtaken is not None else []
    aside = summed_aside(row.set_aside for row in seen.rows)
    lines += [f"link: {aside}"] if aside else []
    lines += _of_limits(seen)
    lines += kept_lines(seen.foretold)
    lines += risk_lines(seen.at_risk)
    lines += unforeseen_lines(seen.unforeseen)
    lines += [f"link: {seen.lost}"] if seen.lost else []
    lines += [str(seen.groups)] if seen.groups is not None else []
    named = oldest(row.open for row in seen.rows)
    lines += [f"source: {named}"] if named else []
    if seen.ids is not None:
        lines += [*seen.ids.sentences(), *pointers(seen.ids.untranslated)]
    gone = f"the source cannot be asked, and this is what the ledger knows: {seen.source_gone}"
    return Group(
        line(f"link {seen.link}; run: {seen.run or 'none is alive'}"),
        *([line(gone)] if seen.source_gone else []),
        summed(totals(seen.rows)),
        "",
        picture(ordered(seen.rows, order), most),
        *map(line, lines),
    )


def _of_limits(seen: LinkStatus) -> Iterable[str]:
    yield from seen.limits.sentences
    least = limits.least_seconds(seen.limits, seen.rows)
    if least is not None:
        yield f"with these limits, what is not copied yet takes {span(least)} at least"


def summed(sums: Totals) -> RenderableType:
    """Return the totals of all partitions: copied, lag, and states."""
    lag = f"lag {count(sums.lag_records)}"
    if sums.lag_records:
        lag += f" ({_bytes(sums)}, {_seconds(sums)})"
    if sums.unknown:
        lag += f", unknown of {counted(sums.unknown, 'partition')}"
    if sums.unstable:
        lag += f"; {unstable(sums.unstable)}"
    copied = f"{count(sums.records)} records, {size(sums.bytes)} copied; {lag}"
    states = line(counted(sums.partitions, "partition"))
    if sums.partitions:
        states.append(": ").append_text(counts(sums.states))
    return Group(line(copied), states)


def unstable(offsets: int) -> str:
    """Return a remark on offsets that the lag leaves out, as their transactions are open."""
    return f"{count(offsets)} more offsets behind open transactions"


def _bytes(sums: Totals) -> str:
    if not sums.unsized:
        return f"about {size(sums.lag_bytes)}"
    return f"at least about {size(sums.lag_bytes)}" if sums.lag_bytes else f"{_UNKNOWN} B"


def _seconds(sums: Totals) -> str:
    """Return the longest lag; partitions without a known lag in records are told apart."""
    longest = sums.longest or 0.0
    if sums.untimed <= sums.unknown:
        return span(longest)
    return f"at least {span(longest)}" if longest else f"{_UNKNOWN} s"


def picture(rows: Iterable[PartitionStatus], most: int | None = None) -> RenderableType:
    """Return a table of partitions in their order, followed by remarks.

    Args:
        rows: The partitions.
        most: Show at most so many of them; `None` shows all.
    """
    kept = tuple(rows)
    shown = kept[:most]
    told = list(map(line, folded(_about(row, each) for row in shown for each in remarks(row))))
    told += map(line, deleted(shown))
    told += map(line, pointers([code for row in shown for code in row.codes]))
    if len(shown) < len(kept):
        told.append(line(f"… and {counted(len(kept) - len(shown), 'more partition')}"))
    return Group(*([_grid(shown)] if shown else []), *told)


def _about(row: PartitionStatus, remark: str) -> tuple[str, str]:
    """Return the name of a partition, and what a remark says of it."""
    name = f"{row.topic}-{row.partition}"
    return name, remark.removeprefix(f"{name}: ")


def _grid(rows: Sequence[PartitionStatus]) -> Grid:
    """Return the table; columns that would only repeat another one are left out of it."""
    repeats = {"target": all(row.target_topic in {row.topic, ""} for row in rows)}
    repeats["written to"] = all(row.source_end == row.target_end for row in rows)
    kept = [at for at, name in enumerate(_HEADERS) if not repeats.get(name)]
    cells = ([_cells(row)[at] for at in kept] for row in rows)
    return Grid([_HEADERS[at] for at in kept], cells, right=_NUMBERS, whole=["state"], spare=_SPARE)


def _cells(row: PartitionStatus) -> tuple[Cell, ...]:
    return (
        f"{row.topic}-{row.partition}",
        row.target_topic,
        marked(row.state),
        row.mode,
        count(row.source_end),
        _known(row.source_log_end),
        _known(row.target_end),
        _known(row.target_log_end),
        _known(row.lag_records),
        _UNKNOWN if row.lag_seconds < 0 else span(row.lag_seconds),
    )


def _known(number: int) -> str:
    return _UNKNOWN if number < 0 else count(number)


_BESIDE_CHANGES = frozenset({FROM_ARCHIVE, FROM_TWIN})


def remarks(row: PartitionStatus) -> Iterable[str]:
    """Yield remarks on a partition: why it is mapped or stopped, its gaps and its losses."""
    if row.reason:
        yield row.named(f"{row.mode}, because {row.reason}")
    if row.transacted:
        yield row.named(
            f"{count(row.transacted)} offsets without a record were filled in transactions, and"
            " consumers with isolation.level=read_uncommitted may see empty records there;"
            " `towpath plan` tells which right is missing"
        )
    yield from _transformed(row) if row.mode == MODE else _changed(row)
    if row.before is not None:
        yield row.named(before_start(row.before))
    yield from _missing(row)
    if row.restart is not None:
        yield row.named(str(row.restart))
    if row.set_aside:
        yield row.named(str(row.set_aside))
    if row.error:
        yield row.named(row.error)


def _changed(row: PartitionStatus) -> Iterator[str]:
    """Yield what was done to records of the source on their way."""
    parts = ChangedParts.of(row.tally)
    archived = parts.from_archive
    if parts.from_twin:
        text = f"{count(parts.from_twin)} records of the source were left out: the twin wrote them"
        yield row.named(text)
    if archived:
        text = f"{count(archived)} records came from the archive, as the source had deleted them"
        yield row.named(text)
    changed = [(kind, number) for kind, number in row.tally if kind not in _BESIDE_CHANGES]
    if row.change or changed:
        done = "".join(f", {kind} {count(number)}" for kind, number in changed)
        yield row.named(f"records are changed on their way (change {row.change or 'none'}{done})")


def _transformed(row: PartitionStatus) -> Iterator[str]:
    """Yield what a query made of records since the link began."""
    done = dict(row.tally)
    if done:
        read, dropped = done.get(READ, 0), done.get(DROPPED, 0)
        text = f"{count(read)} records read, {count(row.records)} written"
        yield row.named(f"{text}, {count(dropped)} dropped by the query")
    if lost := done.get(LOST, 0):
        yield row.named(f"{count(lost)} source offsets were deleted before they were read")


def _missing(row: PartitionStatus) -> Iterator[str]:
    """Yield what the source has deleted before it was copied."""
    told = bool(row.error) and ReasonCode.GAP in row.codes  # the error tells of the gap
    for gap in row.gaps:
        if (told and not gap.went_on) or gap.cause == row.error:
            continue
        if gap.end > gap.first:
            went = "went on behind it" if gap.went_on else "stopped there"
            offsets = f"offsets {gap.first} to {gap.end - 1}"
            yield row.named(f"gap, {offsets}: {gap.cause}; {went}")
        else:
            yield row.named(f"ended at offset {gap.first}: {gap.cause}")
    if row.unread:
        yield row.named(row.behind)
    if row.open is not None:
        yield row.named(row.open.sentence(row.topic, row.partition))
