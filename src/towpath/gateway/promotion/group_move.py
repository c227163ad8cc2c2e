"""Moves of consumer groups: hold back their members, then write their offsets. Blocking."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope, take_in_new
from towpath.gateway.promotion.reasons.groups import of_commits
from towpath.gateway.promotion.target_members import strangers, target_members
from towpath.gateway.promotion.undo_errors import (
    UndoneError,
    missed,
    undone,
    unknown,
)
from towpath.ledger.entries import GatewayTask
from towpath.ledger.link import OpenLink
from towpath.model.errors import TowpathError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.deadline import Deadline

Offsets = dict[ClientGroup, dict[TopicPartition, Commit]]
MEMBERS = 60.0
"""Seconds within which members must have come; they look every few seconds, and finish what they
have in hand."""
_HEARD = 15.0
"""Seconds within which each member is heard of: clients tell of themselves every few seconds."""
_LOOK = 0.5
_NAP = 0.1


class GroupMove:
    """Moves the consumer groups of a promotion.

    Args:
        at: What to work with.
        link: The link that copies: groups leave its source, and go on at its target.
        scope: What moves.
        back: Whether the groups go back to the source.
    """

    def __init__(
        self, at: PromotionResources, link: OpenLink, scope: PromotionScope, *, back: bool
    ) -> None:
        self._at, self._link, self._scope, self._back = at, link, scope, back
        self._fleet, self._names = at.fleet, frozenset[str]()

    def present(self) -> None:
        """Wait until a gateway has seen every member of the groups, here and where they go on.

        Raises:
            UndoneError: One was not: it would go on where it is, or it is a member there already.
        """
        patience = Deadline.after(_HEARD)
        while away := self._unseen(self._members()):
            self._at.require(patience, missed(ReasonCode.PROMOTE_MEMBERS_DIRECT, away))
            time.sleep(_LOOK)
        patience = Deadline.after(MEMBERS)
        while others := strangers(self._fleet, self._link, self._scope.groups):
            self._at.require(patience, missed(ReasonCode.PROMOTE_MEMBERS_THERE, others))
            time.sleep(_LOOK)

    def find(self) -> None:
        """Look for the coordinators of the groups where they go on.

        The first one lets a cluster make the topic of its offsets, which takes seconds.
        """
        self._link.target.groups.offsets(self._scope.groups)

    def gather(self) -> None:
        """Hold back the JoinGroup and the commits of all members of the groups.

        Raises:
            UndoneError: One did not come in time.
        """
        scope = self._scope
        self._names = frozenset(group.name for group in scope.groups)
        self._fleet.ask(GatewayTask.GATHER, **self._who(), back=self._back)
        patience = Deadline.after(MEMBERS)
        self._take_in_new()
        is_closed = False
        while not is_closed:
            while left := self._fleet.missing(self._members()):
                self._at.require(patience, missed(ReasonCode.PROMOTE_MEMBERS_LATE, left))
                time.sleep(_NAP)
            is_closed = self._close(patience)

    def _who(self) -> dict[str, Any]:
        """Return the groups that move and those that stay, as gateways are told."""
        return {
            "groups": tuple(sorted(self._names)),
            "others": tuple(sorted(self._scope.others)),
        }

    def offsets(self) -> Offsets:
        """Write the groups' offsets to the other cluster, and read them back.

        Raises:
            UndoneError: They cannot be read or written, or others stand there.
        """
        found = self._link.source.groups.offsets(self._scope.groups, telling=True)
        for group, error in found.failed.items():
            raise unknown(f"the offsets of {group} are", error)
        for why in of_commits(found):
            raise UndoneError(why)
        wanted = {
            group: {tp: Commit(each.offset, each.metadata) for tp, each in commits.items()}
            for group, commits in found.items()
            if commits
        }
        self._empty()
        self._write(wanted)
        left = self._differ(wanted)
        if left:
            raise undone(ReasonCode.PROMOTE_OFFSETS, group=str(left[0]))
        return wanted

    def check(self, wanted: Offsets) -> list[Reason]:
        """Write offsets again that a sync of groups has set back since."""
        try:
            left = self._differ(wanted)
            self._write({group: wanted[group] for group in left})
        except UndoneError as error:
            return [error.why]
        except TowpathError as error:
            return [error.reason]
        return []

    def _close(self, patience: Deadline) -> bool:
        """Hold commits, too, unless a member came that was on its way when this began.

        Raises:
            UndoneError: What was sent to brokers before is not answered in time.
        """
        self._fleet.ask(GatewayTask.CLOSE, patience, MEMBERS)
        self._take_in_new()
        if not self._fleet.missing(self._members()):
            return True
        self._fleet.ask(GatewayTask.REOPEN)
        return False

    def _take_in_new(self) -> None:
        """Let groups move that came since it was looked; from now on new ones wait.

        Raises:
            UndoneError: One cannot move.
        """
        scope = self._scope
        before = self._names, scope.others
        self._names |= take_in_new(self._link, scope, back=self._back)
        for why in scope.forbidden:
            raise UndoneError(why)
        if before != (self._names, scope.others):
            self._fleet.ask(GatewayTask.TAKE_IN, **self._who())
        # Only now, as from here on nobody is given partitions any more.
        self._fleet.ask(GatewayTask.IDLE, members=_idle(self._members()))

    def _unseen(self, members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        return self._fleet.unseen(members)

    def _members(self) -> dict[str, dict[str, bool]]:
        """Return the members of each group, and whether they have partitions."""
        found = self._link.source.groups.members(self._scope.groups.values())
        for group, error in found.failed.items():
            raise unknown(f"the members of {group} are", error)
        return {
            group.name: {each.id: each.assigned for each in part} for group, part in found.items()
        }

    def _empty(self) -> None:
        """Let members leave that this gateway led away from there, and wait for others to go.

        Raises:
            UndoneError: Somebody is a member there who did not come through a gateway.
        """
        groups, patience = self._link.target.groups, Deadline.after(MEMBERS)
        while there := target_members(self._link, self._scope.groups):
            names = {group.group.name: each for group, each in there.items()}
            others = self._unseen(names)
            groups.leave(
                {each: {*part} - {*others.get(each.group.name, ())} for each, part in there.items()}
            )
            self._at.require(patience, missed(ReasonCode.PROMOTE_MEMBERS_THERE, others or names))
            time.sleep(_NAP)

    def _write(self, wanted: Offsets) -> None:
        for group, done in self._link.target.groups.write(wanted).items():
            for tp, error in done.failed.items():
                raise unknown(f"whether the offset of {group} in {tp} is written is", error)

    def _differ(self, wanted: Offsets) -> list[ClientGroup]:
        """Return the groups whose offsets there are others."""
        back = self._link.target.groups.offsets(wanted)
        return [
            group
            for group, commits in wanted.items()
            if any(
                group not in back or tp not in back[group] or back[group][tp].offset != each.offset
                for tp, each in commits.items()
            )
        ]


def _idle(members: Mapping[str, Mapping[str, bool]]) -> dict[str, tuple[str, ...]]:
    """Return the members, by group, that have no partitions."""
    return {
        group: tuple(name for name, assigned in part.items() if not assigned)
        for group, part in members.items()
    }
