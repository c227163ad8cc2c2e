"""The part of a link to reverse: all of it, or topics that failed over alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, LinkStage, LinkState
from towpath.ledger.link import OpenLink
from towpath.ledger.states import begun
from towpath.mirror.failback.failback_plan import due
from towpath.mirror.failover.partitions import standing_cut
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicName


def require_over(
    books: LinkBooks, meant: Callable[[TopicName], bool] = lambda _: True
) -> dict[TopicName, LinkState]:
    """Return the states of the link, or its topics, that can be reversed; none after a cutover.

    Where the whole link is over, topics that were reversed before are among them, too.

    Args:
        books: What the ledger knows of the link.
        meant: Whether the file asks for a source topic.

    Raises:
        LedgerError: The link was neither failed over nor cut over, or a failover did not end.
    """
    whole = books.state_of()
    own = {
        topic: each
        for topic, each in books.states.items()
        if topic != WHOLE_LINK and each.is_closed and topic not in books.stopped
    }
    if whole is not None and whole.state != LinkStage.RUNNING:
        _require_ended(whole)
        return {WHOLE_LINK: whole} | ({} if whole.state == LinkStage.REVERSED else own)
    for each in own.values():
        _require_ended(each)
    rest = [
        each
        for tp, each in books.partitions.items()
        if each.opened is not None and meant(tp.topic) and tp.topic not in {*own, *books.stopped}
    ]
    if not own and not any(each.cut is not None for each in rest):
        raise LedgerError(
            f"link {books.link} was neither failed over nor cut over, so clients write at the"
            " source: fail over (`towpath failover FILE`) or cut over (`towpath cutover FILE`)"
            " first"
        )
    if own and rest and all(standing_cut(each) is not None for each in rest):
        return {WHOLE_LINK: begun(books.link, WHOLE_LINK).entry} | own  # the rest was cut over
    return own


def _require_ended(state: LinkState) -> None:
    if state.state not in {LinkStage.FAILED_OVER, LinkStage.REVERSED}:
        what = f"topic {state.topic} of link {state.link}" if state.topic else f"link {state.link}"
        part = f" --topics {state.topic}" if state.topic else ""
        raise LedgerError(
            f"{what} is {state.state}: its failover did not end; `towpath failover FILE{part}`"
            " goes on"
        )


def is_whole(states: Mapping[TopicName, LinkState]) -> bool:
    """Whether the whole link failed over, and not only some topics."""
    return not states or WHOLE_LINK in states


def gone_back(states: Mapping[TopicName, LinkState]) -> frozenset[TopicName]:
    """Return the topics that were reversed alone, before the rest of their link."""
    due_now = due(states)
    return frozenset(states.keys() - due_now.keys()) if due_now else frozenset()


def part_of(
    link: OpenLink,
    states: Mapping[TopicName, LinkState],
    without: frozenset[TopicName] = frozenset(),
) -> LinkBooks:
    """Return the link's state with only the topics that are reversed now."""
    books = link.books
    whole = is_whole(states)
    part = books.copy()
    part.partitions = {
        tp: each
        for tp, each in books.partitions.items()
        if link.config.topics.matches(tp.topic)
        and (whole or tp.topic in states)
        and (tp.topic not in books.stopped | without)
    }
    return part
