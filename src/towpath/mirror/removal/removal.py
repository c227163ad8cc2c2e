"""`towpath link rm`: delete the ledger entries of a link, after a state that stops copying.

1. the link needs level 6 and gets the state `removed`, which waits for its books
2. all entries about it are deleted, but its clusters and that state
3. the state waits for nothing any more

Killed anywhere, the same command goes on. The state stays for ever: an older program, or a file
that still names the link, finds out that it is no new one (docs/decisions/0101).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from towpath.cluster.metadata import non_default
from towpath.ledger.alive import RunLife, is_gone
from towpath.ledger.entries import (
    STATES_LEVEL,
    WHOLE_LINK,
    EntryKey,
    GatewaySign,
    LinkIdentity,
    LinkLease,
    LinkState,
    Promoted,
)
from towpath.ledger.events import What
from towpath.ledger.ledger import FACTS
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.moves import Moves
from towpath.ledger.states import RemovedState
from towpath.ledger.wishes import read_begun
from towpath.mirror.removal.removal_plan import RemovalPlan, removal_plan
from towpath.model.nouns import TopicId, TopicName
from towpath.plan.lease import Lease, last_signs
from towpath.runtime.clock import readable
from towpath.settings import LinkConfig
from towpath.topics.owned import ours_of


@dataclass(frozen=True, slots=True)
class RemovalReport:
    """The outcome of a removal.

    Attributes:
        plan: What it means.
        done: Whether it was agreed to and carried out.
        entries: How many ledger entries were deleted.
    """

    plan: RemovalPlan
    done: bool = False
    entries: int = 0


def remove(config: LinkConfig, agreed: Callable[[RemovalPlan], bool]) -> RemovalReport:
    """Delete the ledger entries of a link; the source need not be reachable.

    Args:
        config: The link.
        agreed: Called with what that means; returns whether to do it.

    Raises:
        ClusterError: The target could not be reached, or refused.
        LedgerError: The link never ran.
        LinkHeldError: Another command changes the target for it.
    """
    with open_link(config) as link:
        if link.ledger.usable():
            link.read()
        if link.books.identity is None and link.books.created is not None:
            return _never_ran(link, agreed)
        read_begun(link)
        moves = Moves(link)
        plan = _look(link, moves)
        if plan.over or plan.refusals or not agreed(plan):
            return RemovalReport(plan)
        with Lease(link, "remove"):
            link.raise_level(STATES_LEVEL)
            moves.write([each.remove(moves.by, moves.later()) for each in moves.now])
            entries = link.ledger.forget(link.name, _stays)
            moves.write(
                [each.done(moves.by) for each in moves.now if isinstance(each, RemovedState)]
            )
            link.events.tell(What.LINK_REMOVED, entries=entries)
        return RemovalReport(plan, done=True, entries=entries)


def _never_ran(link: OpenLink, agreed: Callable[[RemovalPlan], bool]) -> RemovalReport:
    """Remove a link that was created alone; its name may be used again."""
    plan = RemovalPlan(link=link.name, never_ran=True, gateways=_gateways(link))
    if not agreed(plan):
        return RemovalReport(plan)
    return RemovalReport(plan, done=True, entries=link.ledger.forget(link.name, _stays))


def _look(link: OpenLink, moves: Moves) -> RemovalPlan:
    link.ledger.read_groups(link.books)
    session, _ = last_signs(link.ledger.another(), link.name)
    run = RunLife.of(session) if session is not None else None
    mirrors = {each.opened.target_topic for each in link.books.partitions.values() if each.opened}
    there = link.target.topics.describe(mirrors)
    ids = {name: info.id for name, info in there.items() if not info.error}
    plan = removal_plan(link.books, moves.now[0], run, ids, _held(link, ids))
    return replace(plan, gateways=_gateways(link))


def _gateways(link: OpenLink) -> tuple[str, ...]:
    """Return a sentence about each gateway of the link that is not known to have ended."""
    found = link.ledger.another().read(
        FACTS, wanted=lambda key: key[:2] == (GatewaySign.kind, link.name)
    )
    signs = {each.name: each for each in found if isinstance(each, GatewaySign)}
    return tuple(
        f"gateway {each.name} on {each.host}, pid {each.pid}, since {readable(each.started)}"
        for each in signs.values()
        if not (each.over or is_gone(each))
    )


def _held(link: OpenLink, ids: Mapping[TopicName, TopicId]) -> set[TopicName]:
    """Return the mirror topics that still lack configs; a promotion sets them, and people do."""
    ours = ours_of(link.books, ids)
    names = [name for name in ids if ours.held.get(name)]
    if not names:
        return set()
    found = link.target.configs.describe(names)
    waiting = {name for name, each in found.items() if ours.waiting(name, non_default(each))}
    return waiting | found.failed.keys()


def _stays(key: EntryKey) -> bool:
    """Whether an entry stays behind: the link's state, or one of those kinds."""
    whole = key.kind == LinkState.kind and key.about == (WHOLE_LINK,)
    return whole or key.kind in _STAY


_STAY = frozenset({LinkIdentity.kind, LinkLease.kind, Promoted.kind, GatewaySign.kind})
"""Kinds of entries that stay behind: the clusters of the link, the lease, and what a gateway must
know so that it does not lead clients back to the source."""
