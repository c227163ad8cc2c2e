"""The display of a failover, rehearsed or done, for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.groups.keeping import holds_until
from towpath.groups.settle import SESSION
from towpath.mirror.failover.failover_plan import FailoverPlan, by_group
from towpath.mirror.failover.group_positions import PositionPlan, held_groups
from towpath.mirror.failover.partitions import UNKNOWN, PartitionPlan
from towpath.mirror.failover.request import FailoverReport
from towpath.model.amounts import count, counted, shortened, span
from towpath.runbook import pointers
from towpath.runtime.clock import readable

_MOST = 20
"""Most lines of one kind that are shown; JSON has all."""
_TABLE = ("group", "partition", "at source", "on target", "read twice", "still to read", "how")
_NUMBERS = _TABLE[2:6]


def plan_picture(plan: FailoverPlan, *, after: bool = False) -> RenderableType:
    """Return the picture of a failover's plan or outcome: totals first, then problems.

    Args:
        plan: The plan.
        after: It is done.
    """
    parts: list[RenderableType] = [*map(line, _head(plan, after=after))]
    parts += map(line, _shortened([each.sentence for each in _telling(plan.partitions)]))
    positions = [each for each in plan.positions if not each.exact or each.stays_away]
    parts += map(line, _totals_of_groups(plan))
    if positions:
        parts.append(_table(positions[:_MOST]))
    more = len(positions) - _MOST
    parts += [line(f"and {counted(more, 'position')} more (--output json)")] if more > 0 else []
    parts += map(line, _notes(plan, after=after))
    return Group(*parts, *map(line, pointers(_codes(plan))))


def _head(plan: FailoverPlan, *, after: bool) -> Iterator[str]:
    what = "failed over" if after else "failover"
    part = f" ({', '.join(plan.topics)})" if plan.topics else ""
    modes = Counter(each.mode for each in plan.partitions)
    kinds = ", ".join(f"{count(modes[each])} {each}" for each in sorted(modes))
    yield f"{what} of link {plan.link}{part}, as of {readable(plan.at)}"
    yield f"partitions: {count(len(plan.partitions))} ({kinds})"
    yield f"not mirrored: {_lost(plan)}"
    if plan.groups is not None:
        yield f"read twice: {_again(plan)}"
    if plan.source_gone:
        yield f"the source does not answer: {plan.source_gone}"
    if plan.silent:
        of = f"{count(len(plan.silent))} of {counted(len(plan.partitions), 'partition')}"
        yield f"the source answers in part: it tells nothing of {of}"
    if plan.run is not None and not after:
        yield f"run: {plan.run}"
    if plan.held_by and not after:
        yield f"refused until it has ended: {plan.held_by} changes the target for this link now"


def _lost(plan: FailoverPlan) -> str:
    known = f"{count(plan.lost)} offsets"
    if not plan.unknown:
        return known
    last = max(each.as_of for each in plan.partitions if each.missing == UNKNOWN)
    return (
        f"at least {known}; of {counted(plan.unknown, 'partition')} nobody knows what was written"
        f" at the source since {readable(last)}"
    )


def _again(plan: FailoverPlan) -> str:
    known = f"{count(plan.again)} records"
    if not (plan.source_gone or (plan.groups is not None and plan.groups.remembered)):
        return known
    return f"{known} by the last known commits; at most {count(plan.again_at_most)}"


def _telling(partitions: Iterable[PartitionPlan]) -> list[PartitionPlan]:
    """Return the partitions with something to tell, trouble first."""
    told = [
        each
        for each in partitions
        if each.trouble is not None or each.missing > 0 or each.at_least or each.silent is not None
    ]
    return sorted(told, key=lambda each: (each.trouble is None, -each.missing, each.tp))


def _totals_of_groups(plan: FailoverPlan) -> Iterator[str]:
    if plan.groups is None:
        yield "groups: none, as the file has no section `groups` (--groups names some)"
        return
    groups = dict(by_group(plan))
    kinds = Counter(each.type or str(each.group.kind) for each in plan.groups.groups)
    of = ", ".join(f"{count(kinds[each])} {each}" for each in sorted(kinds))
    exact = sum(each.exact and each.writes for each in plan.positions)
    yield (
        f"groups: {count(len(groups))}{f' ({of})' if of else ''}, with"
        f" {counted(len(plan.positions), 'position')}, of which {count(exact)} go on at exactly"
        " the next record"
    )
    yield from _shortened([f"{name}: {error}" for name, error in plan.groups.failed.items()])
    yield from _shortened(
        [
            f"{group.name} goes on where the ledger last saw it, as the source does not tell: {why}"
            for group, why in sorted(plan.groups.remembered.items())
        ]
    )
    yield from _shortened([f"not all groups are seen: {each}" for each in plan.groups.unlisted])


def _table(positions: Sequence[PositionPlan]) -> Grid:
    rows = (
        (
            each.position.group.name,
            str(each.position.tp),
            count(each.position.source),
            "?" if each.position.answer is None else count(each.position.answer.offset),
            "?" if each.again == UNKNOWN else count(each.again),
            count(each.follow),
            _how(each),
        )
        for each in positions
    )
    return Grid(_TABLE, rows, right=_NUMBERS, below=("how",))


def _how(each: PositionPlan) -> str:
    position = each.position
    if each.stays_away or not each.writes:
        return str(position.reason or "it is not written")
    told = "" if position.answer is None else position.answer.why
    if each.ahead:
        return f"it had read {count(each.ahead)} offsets that are not mirrored"
    return told or ("" if position.answer is None else str(position.answer.exactness))


def _notes(plan: FailoverPlan, *, after: bool) -> Iterator[str]:
    if plan.unfenced:
        yield (
            "note: the target takes no fences from this login, so late writes of a mirror that is"
            f" frozen now are held off by the seal alone: {plan.unfenced}"
        )
    yield from _shortened(
        [f"note: {tp} cannot be fenced: {why}" for tp, why in sorted(plan.unfenceable.items())]
    )
    yield from _shortened([f"note: {each}" for each in plan.split])
    held = held_groups(plan.groups.positions) if plan.groups is not None and not after else []
    if held:
        yield (
            f"note: failover waits until closed Streams applications have left their groups, for"
            f" {span(SESSION)} at most: {shortened(held, _MOST)}"
        )
    if plan.held:
        what, names = counted(len(plan.held), "mirror topic"), shortened(plan.held, _MOST)
        yield (
            f"note: {what} still keeps all records, as retention or compaction was held back while"
            f" it was filled; set it on the target: {names}"
            if after
            else f"note: {what} gets the retention and compaction that were held back while it was"
            f" filled: {names}"
        )
    if plan.stopped:
        yield (
            f"note: {counted(len(plan.stopped), 'topic')} that somebody stopped by hand stays as it"
            " is; `towpath topics start` takes it up again:"
            f" {shortened(plan.stopped, _MOST)}"
        )
    if plan.paused:
        yield (
            f"note: {counted(len(plan.paused), 'topic')} paused, so nothing of what the source got"
            f" since is mirrored: {shortened(plan.paused, _MOST)}"
        )
    for report in plan.groups.groups if plan.groups is not None else ():
        yield from (f"note: {report.group.name}: {why}" for why in report.remarks)


def _codes(plan: FailoverPlan) -> list[str]:
    told = [each.trouble for each in plan.partitions] + [each.position.reason for each in plan.left]
    return [code for reason in told if reason is not None for code in reason.codes]


def _shortened(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST
    return [*lines[:_MOST], *([f"and {count(more)} more (--output json)"] if more > 0 else [])]


def client_lines(plan: FailoverPlan, server: str) -> list[str]:
    """Return the lines about configs to change in clients."""
    whose = f"clients of {shortened(plan.topics, _MOST)}" if plan.topics else "all clients"
    lines = [f"bootstrap.servers of {whose}: {server}"]
    renamed = sorted(
        {(each.tp.topic, each.target.topic) for each in plan.partitions}
        - {(each.tp.topic, each.tp.topic) for each in plan.partitions}
    )
    lines += _shortened([f"topic {here} is {there} on the target" for here, there in renamed])
    groups = plan.groups.groups if plan.groups is not None else ()
    lines += _shortened(
        [
            f"group {each.group.name} is {each.mirror_group} on the target"
            for each in groups
            if each.mirror_group not in {"", each.group.name}
        ]
    )
    retention = plan.groups.retention if plan.groups is not None else -1
    untils = [until for each in groups if (until := holds_until(each, retention)) is not None]
    if untils:
        lines.append(
            f"the target keeps the offsets of {counted(len(untils), 'group')} until"
            f" {readable(min(untils))} at least, if no client comes before"
        )
    lines.append(
        "transactional producers: start them anew (init_transactions); what they had open at the"
        " source is not mirrored"
    )
    return lines


def done_lines(report: FailoverReport, server: str) -> list[str]:
    """Return the last lines of a failover that was carried out."""
    fenced, state = report.fenced, report.state
    lines = [
        f"fenced: {counted(len(fenced.fences), 'partition')}; whatever an older mirror still sends"
        " is refused there"
    ]
    lines += _shortened([f"not fenced: {tp}: {why}" for tp, why in sorted(fenced.open.items())])
    lines += _shortened([f"left to do: {each}" for each in report.missing])
    lines.append(f"took: {', '.join(f'{k} {span(v)}' for k, v in report.seconds.items())}")
    if state is None or state.state != "failed_over":
        lines.append("not failed over yet, see above; the same command goes on")
        return lines
    topics, link = report.plan.topics, report.plan.link
    part = f"{shortened(topics, _MOST)} of link {link} failed over, and it goes on with the rest"
    lines.append(f"{part if topics else f'link {link} is failed over'}; change in clients:")
    return lines + [f"  {each}" for each in client_lines(report.after or report.plan, server)]
