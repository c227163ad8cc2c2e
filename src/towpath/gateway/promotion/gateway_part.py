"""What one gateway does in a promotion, whichever gateway leads it. For the event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.promotion.promoting_gateway import PromotingGateway
from towpath.gateway.transaction_routes import TransactionHold
from towpath.ledger.entries import (
    GatewayCall,
    GatewayReply,
    GatewayTask,
    Promoted,
    SeenId,
    SeenLogin,
)

Marks = Mapping[BrokerConnection, int]
Owner = tuple[str, str]
"""Who leads a promotion, and its request."""
_DRAINS = frozenset({GatewayTask.CLOSE, GatewayTask.SEAL, GatewayTask.HOLD})
"""Tasks that are done once all that was sent to brokers is answered."""


class GatewayPart:
    """Holds and releases the clients of one gateway.

    Args:
        gateway: The connections.

    Attributes:
        owner: Whose promotion holds something here.
    """

    def __init__(self, gateway: PromotingGateway) -> None:
        self._gateway, self._routes = gateway, gateway.routes
        self._held: GatewayCall | None = None
        self.owner: Owner = "", ""

    def do(self, call: GatewayCall) -> Marks | None:
        """Do what is asked; return what has to be answered before it is done, `None` for nothing.

        Raises:
            LookupError: Another promotion has begun since.
        """
        owner = call.leader, call.request
        if call.task == GatewayTask.JOIN:
            self._join(call, owner)
        elif owner != self.owner:
            raise LookupError(call.request)
        self._hold_members(call)
        self._hold_writers(call)
        if call.task == GatewayTask.UNDO:
            self.release(owner, None, interrupted=True)
        return self._gateway.drains.marks() if call.task in _DRAINS else None

    def _join(self, call: GatewayCall, owner: Owner) -> None:
        self.release(self.owner, None)
        self.owner, self._held = owner, None
        self._routes.coming = frozenset(call.topics)

    def _hold_members(self, call: GatewayCall) -> None:
        routes, found = self._routes, self._routes.gathering
        if call.task == GatewayTask.GATHER:
            groups, others = frozenset(call.groups), frozenset(call.others)
            routes.gathering = HeldMembers(groups, others=others, back=call.back)
        elif found is None:
            return
        elif call.task == GatewayTask.TAKE_IN:
            found.groups, found.others = frozenset(call.groups), frozenset(call.others)
        elif call.task == GatewayTask.IDLE:
            found.idle = {group: frozenset(each) for group, each in call.members.items()}
        elif call.task == GatewayTask.CLOSE:
            found.closed = True
        elif call.task == GatewayTask.REOPEN:
            found.closed = False
            self._gateway.wake()

    def _hold_writers(self, call: GatewayCall) -> None:
        routes, ids = self._routes, self._routes.transactions
        match call.task:
            case GatewayTask.TRANSACTIONS:
                ids.opened(call.opened)
                topics, groups = frozenset(call.topics), frozenset(call.groups)
                stay = frozenset(call.stay) if self._is_whole(call) else None
                ids.hold = TransactionHold(topics, groups, {*call.ids}, call.back, stay)
            case GatewayTask.SEAL | GatewayTask.UNSEAL if ids.hold is not None:
                ids.hold.sealed = call.task == GatewayTask.SEAL
                self._gateway.wake()
            case GatewayTask.ENDED:
                ids.ended(call.ids)
            case GatewayTask.NOTE:
                routes.noted = set()
            case GatewayTask.HOLD:
                self._held, routes.held = call, frozenset(call.topics)
            case _:
                pass

    def reply(self, call: GatewayCall, name: str) -> GatewayReply:
        """Return what a call asks for, as it is now."""
        routes, task = self._routes, call.task
        members: dict[str, tuple[str, ...]] = {}
        if task == GatewayTask.SEEN:
            members = _some(call, lambda group, each: (group, each) in routes.seen)
        elif task == GatewayTask.COME and routes.gathering is not None:
            come = routes.gathering.come
            members = _some(call, lambda group, each: each in come.get(group, ()))
        late = sorted(routes.transactions.late()) if task == GatewayTask.LATE else ()
        told = task == GatewayTask.FACTS
        return GatewayReply(
            link=call.link,
            gateway=name,
            request=call.request,
            leader=call.leader,
            number=call.number,
            joined=False,
            members=members,
            ids=tuple(late),
            producers=self._noted() if task == GatewayTask.NOTED else (),
            seen=tuple(self._ids()) if told or task == GatewayTask.IDS else (),
            logins=tuple(self._logins()) if told else (),
            told=tuple(self._gateway.leaving.told()[:_MOST]) if told else (),
            groups=tuple(sorted(routes.seen.groups())[:_GROUPS]) if told else (),
            waiting=routes.mirror.fenced.counts() if told and routes.mirror is not None else {},
        )

    def _is_whole(self, call: GatewayCall) -> bool:
        """Whether all that is left of the link moves: afterwards nothing new begins where it was.

        A gateway of an older version does not tell what the link copies.
        """
        routes = self._routes
        if call.back:
            return routes.topics <= {*call.topics}
        known = {*call.copied} | routes.eras.keys()
        return bool(call.copied) and known <= routes.topics | {*call.topics}

    def moved(self, record: Promoted) -> None:
        """Let producers go on where the topics are now; members wait for `release`."""
        routes, held = self._routes, self._held
        routes.move(record)
        if held is None or held.request != record.name:
            return
        returned = routes.mirror is not None and record.back  # the others are the target's then
        routes.of_source = frozenset() if returned else frozenset(held.others)
        routes.is_whole = routes.transactions.is_whole = routes.has_all(frozenset(held.copied))
        routes.transactions.stay = frozenset(held.stay)
        routes.held, routes.transactions.hold = frozenset(), None
        self._gateway.wake()

    def release(self, owner: Owner, record: Promoted | None, *, interrupted: bool = False) -> None:
        """Let everything go on: where it moved to if it did, as before if not.

        Args:
            owner: Whose promotion has ended; what another one holds stays held.
            record: What moved, `None` for nothing.
            interrupted: Whether a gateway was lost meanwhile, whose members may think that they
                have nothing.
        """
        routes = self._routes
        if record is not None:
            self.moved(record)
        if owner != self.owner:
            return
        if record is not None:
            routes.gathering = None  # they are not known there, so they join anew
        routes.undo()
        routes.noted, routes.coming = None, frozenset()
        self.owner, self._held = ("", ""), None
        if interrupted:
            routes.interrupt()
        self._gateway.wake()

    def _noted(self) -> tuple[int, ...]:
        noted, self._routes.noted = self._routes.noted or set[int](), None
        return tuple(sorted(noted))

    def _ids(self) -> Iterable[SeenId]:
        for name, each in self._routes.transactions.seen().items():
            yield SeenId(
                id=name,
                producer=next(iter(each.producers), -1),
                topics=tuple(sorted(each.topics)),
                groups=tuple(sorted(each.groups)),
                is_open=each.is_open,
            )

    def _logins(self) -> Iterable[SeenLogin]:
        for each in self._routes.logins.all():
            yield SeenLogin(mechanism=each.mechanism, name=each.name, token=each.token)


_MOST = 20
"""Sentences about clients of one gateway."""
_GROUPS = 2000
"""Groups that one gateway tells of: a record of the ledger has a megabyte at most."""


def _some(call: GatewayCall, wanted: Callable[[str, str], bool]) -> dict[str, tuple[str, ...]]:
    found = {
        group: tuple(each for each in names if wanted(group, each))
        for group, names in call.members.items()
    }
    return {group: names for group, names in found.items() if names}
