"""The display of a failback and of salvage topics, for people and programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from rich.console import Group, RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.mirror.failback.divergence import Divergence, LoneRecords
from towpath.mirror.failback.failback_plan import FailbackPlan, refusal, tp_names
from towpath.mirror.failback.request import FailbackReport
from towpath.mirror.failback.salvage.replay import SalvagedPartition
from towpath.mirror.failback.strays import KeptStrays
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.show.failback_shapes import (
    FailbackJson,
    FailbackPartitionJson,
    KeptStraysJson,
    LoneRecordsJson,
    SalvagedPartitionJson,
    SalvageJson,
    UnfinishedSalvageJson,
)
from towpath.model.amounts import count, counted
from towpath.model.nouns import Side
from towpath.runtime.clock import readable

_ROWS = 60
"""Partitions that are shown one by one."""


def plan_picture(plan: FailbackPlan) -> RenderableType:
    """Return the plan of a failback, for people: problems first, then totals."""
    parts: list[RenderableType] = [line(text) for text in plan.refusals]
    rows = [*plan.conflicts, *plan.tails]
    rows += [each for each in plan.look.partitions if each.target.any and each not in rows]
    if rows:
        parts.append(
            Grid(
                ("partition", "source alone", "target alone", "then"),
                [_row(plan, each) for each in rows[:_ROWS]],
                whole=("source alone", "target alone"),
                below=("then",),
            )
        )
    if len(rows) > _ROWS:
        parts.append(line(f"{counted(len(rows) - _ROWS, 'further partition')} not listed"))
    parts += [line(text) for text in _totals(plan)]
    parts += [line(f"note: {each}") for each in plan.unfinished]
    return Group(*parts)


def _row(plan: FailbackPlan, one: Divergence) -> tuple[str, str, str, str]:
    return str(one.tp), str(one.source), str(one.target), _then(plan, one)


def _then(plan: FailbackPlan, one: Divergence) -> str:
    winner = plan.winner(one)
    if one.is_conflict and winner is None:
        return "both were written: say which wins"
    if winner is Side.TARGET:
        return "the source's are salvaged on the target; the target's are copied back"
    if winner is Side.SOURCE:
        return "the target's are salvaged on the source; what comes later is copied back"
    if one.target.any:
        return "copied back" + ("" if one.identical else ", at other offsets")
    return "the source's stay where they are"


def _totals(plan: FailbackPlan) -> Iterator[str]:
    look = plan.look.partitions
    if not look:
        return
    new, left = _new(plan), _left(plan)
    last = readable(max(each.cut.at for each in look))
    yield (
        f"{counted(len(look), 'partition')}, cut on {last}: up to {count(new)} records to copy"
        f" back, {count(left)} that the old source alone has"
    )
    deleted = [each for each in look if each.target.deleted]
    if deleted:
        yield (
            f"{count(sum(each.target.deleted for each in deleted))} offsets of"
            f" {tp_names(each.tp for each in deleted)} were deleted on the target since clients"
            " wrote them, so they cannot come back; the link back stops there, unless retention"
            " deleted them or `records.on_gap` says how to go on"
        )
    mapped = [each.tp for each in plan.mapped]
    if mapped:
        yield (
            f"offsets cannot stay the same in {counted(len(mapped), 'partition')}"
            f" ({tp_names(mapped)}): the old source has a tail that was never mirrored"
        )


def _new(plan: FailbackPlan) -> int:
    return sum(each.target.most for each in plan.look.partitions)


def _left(plan: FailbackPlan) -> int:
    return sum(each.source.most for each in plan.look.partitions)


def picture(
    report: FailbackReport,
    files: tuple[Path, Path],
    salvaged: Sequence[SalvagedPartition],
    ran: RunProgress | None,
) -> RenderableType:
    """Return the result of a failback, for people; the arguments are those of `as_json`."""
    if not report.done:
        return Group(*map(line, [*report.missing, refusal(report.plan)]))
    lines = [f"note: {note}" for note in report.back.notes] if report.back is not None else []
    lines += [f"note: {each}" for each in report.plan.unfinished]
    lines += _ended(report, files, salvaged, ran)
    return Group(*map(line, lines))


def _ended(
    report: FailbackReport,
    files: tuple[Path, Path],
    salvaged: Sequence[SalvagedPartition],
    ran: RunProgress | None,
) -> Iterator[str]:
    file, to = (quote(str(each)) for each in files)
    yield (
        f"link {report.plan.link} is turned round: link {report.plan.back} copies back what clients"
        " wrote"
    )
    for each in salvaged:
        yield (
            f"{counted(each.records, 'record')} of {each.origin} (offsets {each.first} to"
            f" {each.end - 1}) salvaged in {each.place} on the {each.side}, counted and compared"
            + (f"; {count(each.deleted)} offsets were deleted before" if each.deleted else "")
        )
    yield from (f"they are replayed by `{each}`" for each in replay_commands(salvaged, file))
    if ran is not None:
        how = "has caught up" if caught_up(ran) else "has not caught up; see above"
        yield f"link {report.plan.back} {how}: {count(copied(ran))} records copied back so far"
    back = report.back
    moved = (
        f"`towpath revert {file}`"
        if back is not None and back.of_gateway
        else f"`towpath promote {to}`, once a gateway runs with that file and a section `gateway`"
    )
    yield (
        f"go on with `towpath run {to}`, and prove it with `towpath verify {to}`; clients go back"
        f" behind `towpath cutover {to}`, those of a gateway by {moved}"
    )


def caught_up(ran: RunProgress) -> bool:
    """Return whether a run copied everything present when it began, leaving nothing out."""
    rows = [row for row in ran.rows if not ran.caught_up(row) or row.stands_still or row.left_out]
    return not (rows or ran.left_out or ran.trouble)


def copied(ran: RunProgress) -> int:
    """Return how many records a link has copied since it began."""
    return sum(row.records for row in ran.rows)


def replay_commands(salvaged: Sequence[SalvagedPartition], file: str) -> list[str]:
    """Return the commands that replay the salvaged records not yet replayed."""
    topics = dict.fromkeys(each.target.topic for each in salvaged if each.left)
    return [f"towpath salvage replay {file} --topics {topic}" for topic in topics]


def as_json(
    report: FailbackReport,
    files: tuple[Path, Path],
    salvaged: Sequence[SalvagedPartition],
    ran: RunProgress | None,
    *,
    dry_run: bool,
) -> FailbackJson:
    """Return the result of a failback, for programs.

    Args:
        report: The outcome.
        files: The file of the link, and that of the link back.
        salvaged: What is in salvage topics.
        ran: How the link back ran, if it did.
        dry_run: Nothing was to be changed.
    """
    plan = report.plan
    return FailbackJson(
        link=plan.link,
        back=plan.back,
        file=str(files[1]),
        dry_run=dry_run,
        reversed=report.done,
        caught_up=ran is not None and caught_up(ran),
        records=copied(ran) if ran is not None else 0,
        refusals=list(plan.refusals),
        undecided=len(plan.undecided),
        new_on_target=_new(plan),
        left_at_source=_left(plan),
        partitions=[_partition(plan, each) for each in plan.look.partitions],
        salvaged=[salvaged_as_json(each) for each in salvaged],
        replay=replay_commands(salvaged, quote(str(files[0]))),
        notes=list(report.back.notes) if report.back is not None else [],
        unfinished=[
            UnfinishedSalvageJson(
                wins=str(each.wins),
                topic=each.place.topic,
                partition=each.place.partition,
                origin=each.origin.topic,
                records=each.records,
                text=str(each),
            )
            for each in plan.unfinished
        ],
        missing=list(report.missing),
    )


def _partition(plan: FailbackPlan, one: Divergence) -> FailbackPartitionJson:
    winner = plan.winner(one)
    return FailbackPartitionJson(
        topic=one.tp.topic,
        partition=one.tp.partition,
        cut=one.cut.at,
        source=_lone(one.source),
        target=_lone(one.target),
        conflict=one.is_conflict,
        wins=None if winner is None else str(winner),
        identical=one.identical,
    )


def _lone(own: LoneRecords) -> LoneRecordsJson:
    return LoneRecordsJson(
        topic=own.place.topic,
        partition=own.place.partition,
        first=own.first,
        end=own.end,
        records=own.records,
        deleted=own.deleted,
    )


def salvaged_as_json(one: SalvagedPartition) -> SalvagedPartitionJson:
    """Return one partition of a salvage topic for programs."""
    return SalvagedPartitionJson(
        topic=one.place.topic,
        partition=one.place.partition,
        cluster=str(one.side),
        origin=one.origin.topic,
        target=one.target.topic,
        first=one.first,
        end=one.end,
        records=one.records,
        deleted=one.deleted,
        replayed=one.replayed,
        missing=one.missing,
        foreign=one.foreign,
        at=one.at,
        trouble=one.trouble,
    )


def salvage_as_json(link: str, found: Sequence[SalvagedPartition]) -> SalvageJson:
    """Return the output of `towpath salvage`, for programs."""
    return SalvageJson(
        link=link,
        partitions=[salvaged_as_json(each) for each in found],
        left=sum(each.left for each in found),
    )


def kept_as_json(link: str, kept: KeptStrays) -> KeptStraysJson:
    """Return what was kept aside, for programs."""
    return KeptStraysJson(
        link=link,
        records=kept.records,
        left_out=[*kept.left],
        partitions=[salvaged_as_json(each) for each in kept.found],
        left=sum(each.left for each in kept.found),
    )


def kept_picture(link: str, kept: KeptStrays) -> RenderableType:
    """Return what was kept aside, for people."""
    lines = [f"{counted(kept.records, 'record')} kept aside now", *kept.left]
    return Group(*map(line, lines), salvage_picture(link, kept.found))


def salvage_picture(link: str, found: Sequence[SalvagedPartition]) -> RenderableType:
    """Return a table of salvaged and replayed records, for people."""
    if not found:
        return line(f"nothing of link {link} is salvaged")
    lines = [f"{each.place}: {each.trouble}" for each in found if each.trouble]
    lines += [
        f"{each.place}: {counted(each.missing, 'record')} missing: somebody deleted from it"
        for each in found
        if each.missing
    ]
    grid = Grid(
        ("salvaged in", "on the", "records of", "offsets", "records", "replayed", "to"),
        [
            (
                str(each.place),
                str(each.side),
                str(each.origin),
                f"{each.first} to {each.end - 1}",
                count(each.records),
                count(each.replayed),
                str(each.target),
            )
            for each in found
        ],
        right=("records", "replayed"),
        whole=("offsets",),
    )
    left = sum(each.left for each in found)
    lines.append(f"{counted(left, 'record')} not replayed" if left else "all were replayed")
    return Group(grid, *map(line, lines))
