"""Consumer groups that prevent clients from moving, as they are not synced. Pure."""

from __future__ import annotations

from towpath.groups.group_standings import LEFT_OUT, PASSING, SETTLED
from towpath.groups.model import GroupPosition, SyncReport
from towpath.ledger.books import LinkBooks
from towpath.model.reasons import ReasonCode

_PASSES_AWAY = frozenset({ReasonCode.GROUP_MAY_EXPIRE, ReasonCode.GROUP_NOT_RENEWED})
"""Why offsets that were committed just now may expire before clients come."""


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
            why = each.reason or "it was not written"
            found.append(f"{each.group} is not brought over in {each.tp}: {why}")
    if not rehearsed:
        found += [
            f"{group.group}: {why}"
            for group in report.groups
            for why in group.remarks
            if why.code in _PASSES_AWAY
        ]
    return found


def _is_fine(position: GroupPosition, books: LinkBooks, *, rehearsed: bool) -> bool:
    """Whether clients may move although the target does not have the position."""
    reason = position.reason
    if reason is None or reason.code in PASSING:
        return rehearsed
    # Behind an earlier cutover, clients read on.
    later = reason.code in SETTLED and books.of(position.tp).cut is not None
    return later or reason.code in LEFT_OUT
