"""The display of groups' offsets, as tables and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.show.grid import Cell, Grid
from towpath.cli.show.output import line
from towpath.groups.group_lags import Lag, Lags
from towpath.groups.group_standings import GroupsLook
from towpath.groups.keeping import holds_until
from towpath.groups.model import Expiry, GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.ledger.offsets import NOWHERE, Exactness, TranslatedOffset
from towpath.mirror.show.groups_shapes import (
    AnswerJson,
    ConsumerGroupJson,
    GroupPositionJson,
    GroupsStatusJson,
    LagJson,
    TranslatedPositionJson,
    TranslationsJson,
)
from towpath.mirror.show.shapes import place_as_json
from towpath.model.amounts import count, counted, span
from towpath.model.nouns import SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode, as_data
from towpath.runbook import pointers
from towpath.runtime.clock import readable

UNKNOWN = "?"
_LOOKS = {
    PositionOutcome.UNKNOWN: ("?", "bold yellow"),
    PositionOutcome.NOT_ATTEMPTED: ("✗", "yellow"),
    PositionOutcome.CONFIRMED: ("✓", "green"),
    PositionOutcome.UNCHANGED: ("✓", "green"),
}
_DUE = ("→", "cyan")
_DUE_NAME = "DUE"
_LS = ("group", "on the target", "kind", "source", "target", "partitions")
_STATUS = ("group", "lag", "lag time", "target lag", "target time", "positions")
_NUMBERS = ("lag", "lag time", "target lag", "target time", "at source", "on target", "should be")
_PARTITIONS = ("partition", "at source", "lag", "lag time", "on target", "should be", "target lag",
    "target time", "outcome")  # fmt: skip
_WHERE = ("group", "partition", "at source", "should be", "answer", "outcome")
_SPARE = ("target time", "lag time", "target lag", "should be")
_MOST_REMARKS = 20


def heading(seen: GroupsLook) -> list[str]:
    """Return the lines above a table of groups: the link, and the time of observation."""
    lines = [f"link {seen.link}: {counted(len(seen.report.groups), 'group')}"]
    if seen.gone:
        at = max((group.at for group in seen.report.groups), default=0)
        when = f"as the ledger saw the groups last, at {readable(at)}" if at else "none is known"
        lines.append(f"the source cannot be asked ({seen.gone}); {when}")
    if not seen.asked:
        lines.append("the file has no section `groups`, so a run brings none of them over")
    return lines


def list_picture(seen: GroupsLook) -> RenderableType:
    """Return the groups for people, one per line."""
    rows = (
        (
            group.group.name,
            group.mirror_group if group.mirror_group != group.group.name else "the same name",
            str(group.group.kind),
            group.source_state or UNKNOWN,
            group.target_state or "-",
            count(len(group.positions)),
        )
        for group in seen.report.groups
    )
    grid = Grid(_LS, rows, right=("partitions",), spare=("on the target", "kind"))
    return Group(*_above(seen), *([grid] if seen.report.groups else []), *_failures(seen))


def summary_picture(seen: GroupsLook) -> RenderableType:
    """Return each group's lag, and the number of its offsets on the target."""
    rows = (
        (group.group.name, *_lag_cells(_total(seen, group)), _counted(group))
        for group in seen.report.groups
    )
    grid = Grid(_STATUS, rows, right=_NUMBERS, spare=("target time", "lag time"))
    return Group(
        *_above(seen),
        *([grid] if seen.report.groups else []),
        *remarks(seen.report),
        *_failures(seen),
    )


def group_picture(seen: GroupsLook) -> RenderableType:
    """Return the offsets of one or more groups in each partition."""
    parts: list[RenderableType] = [*_above(seen)]
    for group in seen.report.groups:
        parts.append(line(_sentence(group)))
        cells = (_cells(each, seen.lag(each)) for each in group.positions)
        grid = Grid(_PARTITIONS, cells, right=_NUMBERS, whole=["outcome"], spare=_SPARE)
        kept = _kept(group, seen.report.retention)
        parts += [grid, *map(line, kept), *_remarks([group])]
    return Group(*parts, *_failures(seen))


def where_picture(seen: GroupsLook) -> RenderableType:
    """Return one table with the present or future offsets of each group on the target."""
    rows = (
        (
            each.group.name,
            str(each.tp),
            _at(each),
            UNKNOWN if each.answer is None else count(each.answer.offset),
            "" if each.answer is None else str(each.answer.exactness),
            _marked(each),
        )
        for each in seen.report.positions
    )
    grid = Grid(_WHERE, rows, right=_WHERE[2:4], whole=["outcome"], spare=("answer",))
    return Group(*_above(seen), *([grid] if seen.report.groups else []), *remarks(seen.report))


def outcome_lines(seen: GroupsLook) -> RenderableType:
    """Return the outcome of a sync."""
    outcomes = seen.report.outcomes
    told = ", ".join(f"{outcomes[each]:,} {each}" for each in PositionOutcome if outcomes[each])
    return Group(
        *_above(seen),
        line(f"positions: {told or 'none'}"),
        *map(line, held_lines(seen.report)),
        *remarks(seen.report),
        *_failures(seen),
    )


Translation = tuple[TopicPartition, SourceOffset, TranslatedOffset[TargetOffset] | None]
"""A source partition, an offset in it, and that offset on the target."""


def translation_picture(group: str, found: Sequence[Translation]) -> RenderableType:
    """Return translated offsets for people."""
    rows = (
        (
            str(tp),
            count(offset),
            UNKNOWN if answer is None else count(answer.offset),
            "not mirrored" if answer is None else str(answer.exactness),
        )
        for tp, offset, answer in found
    )
    headers = ("partition", "at source", "on target", "answer")
    whys = (line(f"{tp}: {answer.why}") for tp, _, answer in found if answer and answer.why)
    grid = Grid(headers, rows, right=headers[1:3], whole=["answer"])
    return Group(line(f"group {group}"), grid, *whys)


def translations_as_json(group: str, found: Sequence[Translation]) -> TranslationsJson:
    """Return translated offsets for programs."""
    rows: list[TranslatedPositionJson] = [
        {"topic": tp.topic, "partition": tp.partition, "source": at, "answer": _answer(each)}
        for tp, at, each in found
    ]
    return {"group": group, "partitions": rows}


def as_json(seen: GroupsLook) -> GroupsStatusJson:
    """Return all groups for programs."""
    report = seen.report
    return GroupsStatusJson(
        link=seen.link,
        asked=seen.asked,
        at=report.at,
        source_gone=seen.gone or None,
        outcomes={str(each): number for each, number in report.outcomes.items()},
        retention_seconds=None if report.retention < 0 else report.retention // 1000,
        groups=[_group_as_json(seen, group) for group in report.groups],
        failed={group.name: str(error) for group, error in report.failed.items()},
        unlisted=[str(error) for error in report.unlisted],
    )


def _group_as_json(seen: GroupsLook, group: GroupReport) -> ConsumerGroupJson:
    return ConsumerGroupJson(
        group=group.group.name,
        kind=str(group.group.kind),
        type=group.type or None,
        mirror_group=group.mirror_group,
        source_state=group.source_state or None,
        target_state=group.target_state or None,
        seen_at=group.at,
        deleted=group.deleted,
        committed_at=group.committed or None,
        expires=str(group.expires),
        holds_until=holds_until(group, seen.report.retention),
        remarks=[{**as_data(each), "text": str(each)} for each in group.remarks],
        positions=[_position_as_json(each, seen.lag(each)) for each in group.positions],
    )


def _position_as_json(position: GroupPosition, lag: Lags) -> GroupPositionJson:
    return GroupPositionJson(
        topic=position.tp.topic,
        partition=position.tp.partition,
        mirror=None if position.mirror is None else place_as_json(position.mirror),
        source=None if position.source == NOWHERE else position.source,
        metadata=position.metadata,
        answer=_answer(position.answer),
        target=position.known,
        gone=position.gone,
        again=None if position.again < 0 else position.again,
        outcome=str(position.outcome),
        due=position.due,
        reason=None if position.reason is None else as_data(position.reason),
        why=str(position.reason or ""),
        source_lag=_lag(lag.source),
        target_lag=_lag(lag.target),
    )


def _at(position: GroupPosition) -> str:
    """Return the offset at the source; "-" where the mirror topic alone has the partition."""
    return "-" if position.source == NOWHERE else count(position.source)


def _answer(answer: TranslatedOffset[TargetOffset] | None) -> AnswerJson | None:
    if answer is None:
        return None
    return AnswerJson(offset=answer.offset, exactness=str(answer.exactness), why=answer.why)


def _lag(lag: Lag) -> LagJson:
    return LagJson(
        records=None if lag.records < 0 else lag.records,
        seconds=None if lag.seconds < 0 else round(lag.seconds, 3),
    )


def _above(seen: GroupsLook) -> Iterator[Text]:
    return map(line, heading(seen))


def _total(seen: GroupsLook, group: GroupReport) -> Lags:
    """Return the sum of records, and the longest time, -1 where a part is not known."""
    found = [seen.lag(each) for each in group.positions]
    return Lags(_sum(each.source for each in found), _sum(each.target for each in found))


def _sum(lags: Iterable[Lag]) -> Lag:
    found = list(lags)
    known = [each.records for each in found if each.records >= 0]
    seconds = [each.seconds for each in found]
    return Lag(
        sum(known) if len(known) == len(found) else -1,
        -1.0 if min(seconds, default=0.0) < 0 else max(seconds, default=0.0),
    )


def _lag_cells(lag: Lags) -> tuple[str, str, str, str]:
    return (*_of(lag.source), *_of(lag.target))


def _of(lag: Lag) -> tuple[str, str]:
    return (
        UNKNOWN if lag.records < 0 else count(lag.records),
        UNKNOWN if lag.seconds < 0 else span(lag.seconds),
    )


def _counted(group: GroupReport) -> Text:
    """Return how many positions the target has, and what is with the others."""
    told: dict[str, tuple[str, int]] = {}
    for each in group.positions:
        mark, style, name = _look(each)
        label = f"{mark} {{}} {name}"
        told[label] = style, told.get(label, (style, 0))[1] + 1
    parts = [Text(label.format(number), style=style) for label, (style, number) in told.items()]
    return Text(", ").join(parts)


def _look(position: GroupPosition) -> tuple[str, str, str]:
    mark, style = _DUE if position.due else _LOOKS[position.outcome]
    return mark, style, _DUE_NAME if position.due else str(position.outcome)


def _sentence(group: GroupReport) -> str:
    mirror = "" if group.mirror_group == group.group.name else f", {group.mirror_group} there"
    source = group.source_state or "state unknown"
    target = group.target_state or "not there"
    return f"{group.group}{mirror}; at the source: {source}; on the target: {target}"


def _cells(position: GroupPosition, lag: Lags) -> tuple[Cell, ...]:
    answer = position.answer
    return (
        str(position.tp),
        _at(position),
        *_of(lag.source),
        "-" if position.known is None else count(position.known),
        UNKNOWN if answer is None else count(answer.offset),
        *_of(lag.target),
        _marked(position),
    )


def _marked(position: GroupPosition) -> Text:
    mark, style, name = _look(position)
    return Text(f"{mark} {name}", style=style)


def held_lines(report: SyncReport) -> Iterator[str]:
    """Yield until when the target keeps the offsets of groups, sorted by time."""
    kept = {group.group.name: holds_until(group, report.retention) for group in report.groups}
    times = {name: at for name, at in kept.items() if at is not None}
    if times:
        first = min(times, key=lambda name: times[name])
        more = f" and {counted(len(times) - 1, 'other')}" if len(times) > 1 else ""
        yield (
            f"the target keeps the offsets of {first}{more} until {readable(times[first])} at"
            f" least{_by(report.retention)}: start their clients before"
        )


def _by(retention: int) -> str:
    return f" (offsets.retention.minutes {retention // 60_000})"


def _kept(group: GroupReport, retention: int) -> Iterator[str]:
    """Yield until when the target keeps what it has of a group."""
    until = holds_until(group, retention)
    if until is not None:
        yield f"the target keeps these offsets until {readable(until)} at least{_by(retention)}"
    elif group.expires is Expiry.WITH_MEMBERS:
        yield "the target keeps these offsets as long as the group has members there"


def remarks(report: SyncReport) -> Iterator[Text]:
    """Yield remarks about the groups in a report, and about their offsets."""
    yield from _remarks(report.groups, named=True)


def _remarks(groups: Iterable[GroupReport], *, named: bool = False) -> Iterator[Text]:
    """Yield what groups are like, why positions are not written, and why answers are not exact."""
    given = list(groups)
    positions = (each for group in given for each in group.positions)
    told = [
        (_about(group, named=named) + str(why), why.codes)
        for group in given
        for why in group.remarks
    ]
    told += sorted(_told(positions, named=named), key=lambda each: not each[1])
    yield from map(line, (text for text, _ in told[:_MOST_REMARKS]))
    if len(told) > _MOST_REMARKS:
        yield line(f"… and {counted(len(told) - _MOST_REMARKS, 'more remark')}; -o json has all")
    yield from map(line, pointers([code for _, codes in told for code in codes]))


def _about(group: GroupReport, *, named: bool) -> str:
    return f"{group.group}: " if named else ""


def _told(
    positions: Iterable[GroupPosition], *, named: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for each in positions:
        where = f"{each.group}, {each.tp}" if named else str(each.tp)
        answer = each.answer
        if each.reason is not None:
            yield f"{where}: {each.reason}", each.reason.codes
        elif answer is not None and answer.exactness is not Exactness.EXACT:
            yield f"{where}: {answer.exactness}: {answer.why}", ()
        if each.gone is not None:
            gone = Reason.of(ReasonCode.POSITION_GONE, offset=each.gone)
            yield f"{where}: {gone}", gone.codes


def _failures(seen: GroupsLook) -> Iterator[Text]:
    for group, error in seen.report.failed.items():
        yield line(f"{group}: {error}")
    for error in seen.report.unlisted:
        yield line(f"some groups may be missing here: {error}")
