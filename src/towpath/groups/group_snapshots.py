"""Ledger entries about groups: source snapshots, and what the target got last. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome
from towpath.ledger.entries import SeenGroup, SeenPosition
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset, TopicId, TopicName

_NOTHING = SeenPosition(0, SourceOffset(-1))


def group_entry(
    link: LinkName, report: GroupReport, ids: Mapping[TopicName, TopicId], last: SeenGroup | None
) -> SeenGroup:
    """Return the ledger entry for a group.

    Positions that the source no longer has stay as they were, so that a source that has just
    restarted, or has forgotten old commits, erases nothing.

    Args:
        link: The link.
        report: What became of the group.
        ids: The ids of source topics.
        last: What the ledger holds.
    """
    old = last.positions if last is not None else {}
    rows: dict[TopicName, list[SeenPosition]] = {}
    known_ids = {**(last.ids if last is not None else {}), **ids}
    here = {position.tp for position in report.positions}
    kept = {
        tp: each
        for tp, each in old.items()
        if tp not in here and last and last.ids.get(tp.topic) == known_ids.get(tp.topic)
    }
    for tp, each in kept.items():
        rows.setdefault(tp.topic, []).append(each)
    for position in report.positions:
        row = _row(position, old.get(position.tp, _NOTHING))
        rows.setdefault(position.tp.topic, []).append(row)
    return SeenGroup(
        link=link,
        group=report.group.name,
        of=report.group.kind,
        mirror_group=report.mirror_group,
        state=report.source_state or (last.state if last is not None else ""),
        at=report.at,
        ids={topic: known_ids[topic] for topic in sorted(rows) if topic in known_ids},
        topics={topic: tuple(sorted(rows[topic])) for topic in sorted(rows)},
        type=report.type or (last.type if last is not None else ""),
        committed=report.committed or (last.committed if last is not None else 0),
        mark=_mark(report.mark, last.mark if last is not None else "", kept=bool(kept)),
    )


def _mark(now: str, before: str, *, kept: bool) -> str:
    """Return the mark that holds for all positions, also for those that are kept from before."""
    if not now or now == before:
        return before
    return "" if kept else now


def _row(position: GroupPosition, last: SeenPosition) -> SeenPosition:
    base, target = last.base, last.target
    outcome = position.outcome
    if position.settled and position.answer is not None:
        # What was read back once is there afterwards: entries would else alternate.
        base, target = position.source, TargetOffset(position.answer.offset)
        outcome = PositionOutcome.CONFIRMED
    return SeenPosition(
        position.tp.partition, position.source, base, target, str(outcome), position.metadata
    )


def is_news(entry: SeenGroup, last: SeenGroup | None) -> bool:
    """Return whether an entry differs from the last one in more than its time."""
    return last is None or replace(entry, at=last.at) != last
