"""Consumer groups that prevent clients from moving: not synced, or read too little. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from towpath.groups.at_cut import CutTopic
from towpath.groups.group_standings import PASSING, SETTLED
from towpath.groups.model import GroupPosition, SyncReport
from towpath.groups.unread import PassedOver, by_client, group_texts, unread_text
from towpath.ledger.books import LinkBooks
from towpath.mirror.cutover.readers import ReadingGroup
from towpath.model.amounts import counted, shortened
from towpath.model.findings import Note
from towpath.model.groups import ClientGroup
from towpath.model.reasons import Reason, ReasonCode

_PASSES_AWAY = frozenset({ReasonCode.GROUP_MAY_EXPIRE, ReasonCode.GROUP_NOT_RENEWED})
"""Why offsets that were committed just now may expire before clients come."""

_NAMED = 3
_OTHER_LOG = frozenset({ReasonCode.SOURCE_CUT, ReasonCode.SOURCE_TOPIC_RECREATED})
"""Why an offset at the source may not mean the same record as before."""


def unmoved(report: SyncReport, books: LinkBooks, *, rehearsed: bool = False) -> list[str]:
    """Return a text for each group offset that prevents clients from moving.

    Args:
        report: The last sync, or a preview of it.
        books: What the ledger knows of the link.
        rehearsed: It is a preview: copying goes on, and nothing is written yet.
    """
    found = [f"{group}: {error}" for group, error in report.failed.items()]
    found += [f"some groups could not be looked at: {error}" for error in report.unlisted]
    for each in report.positions:
        if not each.settled and not _is_fine(each, books, rehearsed=rehearsed):
            why = f"{_why(each.reason)}{'' if _is_of_another(each) else _reads_on(each, books)}"
            found.append(f"{each.group} is not brought over in {each.tp}: {why}")
    if not rehearsed:
        found += [
            f"{group.group}: {why}"
            for group in report.groups
            for why in group.remarks
            if why.code in _PASSES_AWAY
        ]
    return found


def open_transactions(report: SyncReport) -> list[str]:
    """Return a sentence for each group whose offsets an open transaction may change."""
    return [
        f"{group.group}: {why}"
        for group in report.groups
        for why in group.remarks
        if why.code is ReasonCode.GROUP_TRANSACTION_OPEN
    ]


def skipped(found: Iterable[PassedOver], may_skip: Collection[str]) -> tuple[list[str], list[Note]]:
    """Return a text for each group that would pass over unread records, and notes where it may.

    Args:
        found: Unread records that the source has and the target lacks.
        may_skip: Names of the groups of which the user says that this is meant.
    """
    return _told(
        group_texts(found),
        may_skip,
        "let its clients read them at the source first, or add --may-skip {group} to cut over all"
        " the same",
        "; that is meant (--may-skip)",
    )


def unread(found: Iterable[PassedOver], may_skip: Collection[str]) -> tuple[list[str], list[Note]]:
    """Return a text for each group that has not read everything, and notes where that is meant.

    Args:
        found: What groups have not read at the source, of a link whose records go through a query.
        may_skip: Names of the groups of which the user says that this is meant.
    """
    return _told(
        {group: unread_text(rows) for group, rows in by_client(found).items()},
        may_skip,
        "let its clients read them first, or add --may-skip {group} to let it go on behind them",
        ", and goes on behind them; that is meant (--may-skip)",
    )


def _told(
    texts: Mapping[ClientGroup, str], may_skip: Collection[str], instead: str, meant: str
) -> tuple[list[str], list[Note]]:
    """Return the texts with what to do, and as notes where the user says that it is meant."""
    trouble = [
        f"{group}: {text}; {instead.format(group=group.name)}"
        for group, text in texts.items()
        if group.name not in may_skip
    ]
    notes = [
        Note(str(group), f"{text}{meant}")
        for group, text in texts.items()
        if group.name in may_skip
    ]
    return trouble, notes


def among_others(found: Iterable[tuple[ClientGroup, CutTopic]]) -> list[Note]:
    """Return notes on groups that are meant to pass over records of others."""
    return [
        Note(
            str(group),
            f"it goes on at the end of {topic.mirror}, which also has records {topic.others}; that"
            " is meant (--may-skip)",
        )
        for group, topic in found
    ]


def to_read(found: Iterable[PassedOver], may_skip: Collection[str]) -> list[str]:
    """Return one sentence about the groups that must read the rest before the cutover."""
    rows = {g: each for g, each in by_client(found).items() if g.name not in may_skip}
    if not rows:
        return []
    have = "has" if len(rows) == 1 else "have"
    named = [
        f"{group.name}: {counted(sum(each.records for each in theirs), 'record')}"
        for group, theirs in rows.items()
    ]
    return [
        f"{counted(len(rows), 'group')} {have} not read everything at the source"
        f" ({shortened(named, _NAMED)}): let the clients read the rest"
    ]


def left_reading(reading: Iterable[ReadingGroup], found: Iterable[PassedOver]) -> list[Note]:
    """Return notes on groups that are left behind while they read, or before they read all."""
    anew = "it begins anew on the target (--without-groups)"
    texts = {each.group: each.what for each in reading}
    for group, rows in by_client(found).items():
        before = f"{texts[group]}; " if group in texts else ""
        texts[group] = before + unread_text(rows)
    return [Note(str(group), f"{text}; {anew}") for group, text in sorted(texts.items())]


def _why(reason: Reason | None) -> str:
    """Return why a position is not there, with what to do where the reason does not say that."""
    if reason is None:
        return "it was not written"
    stop = "; stop its members" if reason.code is ReasonCode.GROUP_NOT_EMPTY else ""
    return f"{reason}{stop}"


def _reads_on(position: GroupPosition, books: LinkBooks) -> str:
    """Return that a group that reads on the target has moved at the source, too, "" if not.

    The ledger keeps where it stood at the source when the target got its position last, which was
    at the earlier cutover, or after it.
    """
    seen = books.groups.get(position.group.name)
    last = seen.positions.get(position.tp) if seen is not None else None
    if last is None or last.base < 0 or last.base == position.source:
        return ""
    return (
        f"; it stood at offset {last.base} at the source when the target got its position, and"
        f" stands at {position.source} now: {_who(position, last.base, books)}. Let its clients run"
        " on one side only; if the target's position is the wrong one, delete the group there and"
        " cut over again"
    )


def _who(position: GroupPosition, base: int, books: LinkBooks) -> str:
    """Return what is known of why a group stands elsewhere at the source than before."""
    if position.source > base:
        return "clients read there, or somebody set it on"
    changed = {code for gap in books.of(position.tp).gaps for code in gap.why.codes} & _OTHER_LOG
    if position.tp.topic in books.restarts:
        changed |= {ReasonCode.SOURCE_TOPIC_RECREATED}
    if changed:
        return (
            "the source has lost records there since, or has them in another topic of that name"
            f" ({', '.join(sorted(changed))}), so its offsets may mean other records"
        )
    if position.again:
        return (
            "somebody set it back, or its members came and went, and its brokers do not tell which"
            " of the records behind that it has accepted"
        )
    return "somebody set it back, an operator or a client"


def _is_of_another(position: GroupPosition) -> bool:
    """Whether the offset is one in another topic of the same name than the copied one."""
    reason = position.reason
    return reason is not None and reason.code is ReasonCode.SOURCE_TOPIC_RECREATED


def _has_members(position: GroupPosition) -> bool:
    return position.reason is not None and position.reason.code is ReasonCode.GROUP_NOT_EMPTY


def _is_fine(position: GroupPosition, books: LinkBooks, *, rehearsed: bool) -> bool:
    """Whether clients may move although the target does not have the position."""
    reason = position.reason
    if reason is None or reason.code in PASSING or _has_members(position):
        return rehearsed
    if reason.code is ReasonCode.GROUP_GOES_ON:
        return True
    # Behind an earlier cutover, clients read on, if they are on the target indeed.
    later = reason.code in SETTLED and books.of(position.tp).cut is not None
    return (
        later and not _reads_on(position, books)
    ) or reason.code is ReasonCode.TOPIC_NOT_MIRRORED
