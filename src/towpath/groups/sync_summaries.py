"""Counts for metrics, and sentences for people, about the outcome of a sync. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.groups.counts import GroupCounts
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.model.amounts import counted, shortened
from towpath.model.reasons import Reason, ReasonCode

_NAMED = 3
_NO_ERROR = {ReasonCode.TOPIC_NOT_MIRRORED, ReasonCode.NOT_MIRRORED_YET}


def counts_of(report: SyncReport) -> dict[str, GroupCounts]:
    """Return the counts of each group; time spent is distributed by offsets."""
    all_of_it = max(1, sum(len(group.positions) for group in report.groups))
    due = max(1, sum(group.due for group in report.groups))
    ns = report.translating * 1e9 / all_of_it, report.writing * 1e9 / due
    return {group.group.name: _counts(group, *ns) for group in report.groups}


def _counts(group: GroupReport, translating: float, writing: float) -> GroupCounts:
    confirmed = group.outcomes[PositionOutcome.CONFIRMED]
    return GroupCounts(
        translated=group.due,
        translation_errors=sum(map(_is_untranslated, group.positions)),
        translation_ns=round(translating * len(group.positions)),
        committed=confirmed,
        commit_errors=group.due - confirmed,
        commit_ns=round(writing * group.due),
        syncs=1,
        writes=int(group.due > 0),
    )


def _is_untranslated(position: GroupPosition) -> bool:
    reason = position.reason
    return position.answer is None and reason is not None and reason.code not in _NO_ERROR


def trouble_of(report: SyncReport) -> Iterator[str]:
    """Yield sentences about the failures of a sync."""
    for error in report.unlisted:
        yield f"some groups may be missing: {error}"
    for group, error in report.failed.items():
        yield f"{group}: {error}"
    lost = report.outcomes[PositionOutcome.UNKNOWN]
    if lost:
        yield f"of {counted(lost, 'position')} it is not known whether they were written"


def preview_of(report: SyncReport) -> Iterator[str]:
    """Yield sentences about the first changes of a sync, for a plan."""
    due = [each for each in report.positions if each.due]
    there = report.outcomes[PositionOutcome.UNCHANGED]
    if due or there:
        yield (
            f"the first sync would write {counted(len(due), 'position')} of {_of_groups(due)};"
            f" {there} are there already"
        )
    by_code: dict[ReasonCode, list[GroupPosition]] = {}
    for each in report.positions:
        if each.reason is not None:
            by_code.setdefault(each.reason.code, []).append(each)
    for theirs in by_code.values():
        yield (
            f"{counted(len(theirs), 'position')} of {_of_groups(theirs)} would not be written,"
            f" such as that in {theirs[0].tp}: {theirs[0].reason}"
        )
    yield from _remarked(report)
    yield from trouble_of(report)


def _remarked(report: SyncReport) -> Iterator[str]:
    """Yield a sentence for each kind of remark about groups."""
    by_code: dict[ReasonCode, list[tuple[str, Reason]]] = {}
    for group in report.groups:
        for why in group.remarks:
            by_code.setdefault(why.code, []).append((str(group.group), why))
    for (name, why), *others in by_code.values():
        yield f"{name}{_more(len(others), 'other')}: {why}"


def _more(number: int, what: str) -> str:
    return f" and {counted(number, what)}" if number else ""


def _of_groups(positions: Iterable[GroupPosition]) -> str:
    names = sorted({each.group.name for each in positions})
    if not names:
        return "0 groups"
    return f"{counted(len(names), 'group')} ({shortened(names, _NAMED)})"
