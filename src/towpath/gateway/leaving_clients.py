"""The clients that may go on without the gateway, and those that still need it. Pure.

A client is the host that it connects from together with its client id. It may leave once nothing
from before a promotion can be in doubt: a batch whose answer was lost must be sent again through
the gateway, which knows that the source held it; the target would take it a second time. Clients
send such a batch again as soon as they have a connection. So whoever was connected without a break
for a while, and sent nothing that the cut table had to judge, has nothing in doubt.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from towpath.gateway.frames import ClientName
from towpath.gateway.gateway_counts import LeavingCounts
from towpath.gateway.routes import Routes

SETTLED = 30.0
"""Seconds without a break after which a client has nothing in doubt; clients retry within one."""
_REPLACED = 10.0
"""Seconds within which a client replaces a connection that the gateway closed."""
_TOLD = 1.0
"""Seconds that a client gets to take in the addresses that it was shown."""
_RETURN = 60.0
"""A client that connects anew within this time after it was shown other addresses came back."""
_RETURNS = 2
"""How often one program comes back before it is kept. Of several programs with one client id, such
as `rdkafka`, each comes until it was shown the addresses, so they may come as often as they are."""
_STAY = 600.0
"""Seconds for which a client that came back is kept."""
MOST = 50_000
"""Clients that are remembered."""


@dataclass(slots=True)
class _Client:
    """What is known of a client.

    Attributes:
        since: From when on nothing broke off, and nothing was in doubt.
        connections: How many it has.
        shown: When it was last shown the target's own addresses, `None` for never.
        pushed: Whether a connection was closed so that it looks for addresses anew.
        replaces: Until when new connections replace those that the gateway closed, and how many.
        returns: How often it came back.
        most: How many programs it may be: as many as it had connections when one was shown these.
        kept: Until when it stays after it came back.
        transacts: Whether it writes in transactions, whose coordinator is the gateway's.
        others: Whether it asked for topics that are not promoted.
        holds_ids: Whether it takes a topic with another id for another topic.
    """

    since: float
    connections: int = 0
    shown: float | None = None
    pushed: bool = False
    replaces: tuple[float, int] = (0.0, 0)
    returns: int = 0
    most: int = 0
    kept: float = 0.0
    transacts: bool = False
    others: bool = False
    holds_ids: bool = False


class LeavingClients:
    """The clients of a gateway, and which of them may leave it.

    Args:
        routes: What is promoted.
        now: Tells the time, in seconds.
        returned: Called with a client that came back, as it cannot do without the gateway.

    Attributes:
        is_open: Whether clients may leave at all: the ledger says that they may have.
    """

    def __init__(
        self,
        routes: Routes,
        now: Callable[[], float],
        returned: Callable[[ClientName], None] = lambda _: None,
    ) -> None:
        self._routes, self._now, self._returned = routes, now, returned
        self._clients: OrderedDict[ClientName, _Client] = OrderedDict()
        self._left = 0
        self.is_open = False

    def began(self, name: ClientName) -> None:
        """Note a new connection of a client."""
        now = self._now()
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = _Client(now)
        self._clients.move_to_end(name)
        self._forget()
        client.connections += 1
        until, number = client.replaces
        if number and now < until:
            client.replaces = until, number - 1
            return
        client.since = now
        if client.shown is not None and now - client.shown < _RETURN:
            self._came_back(name, client, now)

    def _came_back(self, name: ClientName, client: _Client, now: float) -> None:
        client.returns += 1
        if client.returns < max(_RETURNS, client.most):
            return
        client.returns, client.kept, client.shown = 0, now + _STAY, None
        self._returned(name)

    def ended(self, name: ClientName, *, retired: bool) -> None:
        """Note the end of a connection.

        Args:
            name: The client.
            retired: Whether the gateway closed it after all answers.
        """
        client = self._clients.get(name)
        if client is None:
            return
        client.connections -= 1
        if not retired:
            client.since = self._now()
        if not client.connections and client.shown is not None:
            self._left += 1

    def doubts(self, name: ClientName) -> None:
        """Note that a client sent a batch that was judged by what the source held."""
        client = self._clients.get(name)
        if client is not None:
            client.since = self._now()

    def transacts(self, name: ClientName) -> None:
        """Note that a client writes in transactions, so it stays."""
        client = self._clients.get(name)
        if client is not None:
            client.transacts = True

    def holds_ids(self, name: ClientName) -> None:
        """Note that a client takes a topic with another id for another topic, so it stays."""
        client = self._clients.get(name)
        if client is not None:
            client.holds_ids = True

    def goes(self, name: ClientName, topics: Iterable[str]) -> bool:
        """Return whether a client that asks for these topics is shown the target's own brokers."""
        client = self._clients.get(name)
        if client is None or not self.is_open:
            return False
        names = {*topics}
        client.others = not names or not all(map(self._may_be_left, names))
        if client.others or not self._is_settled(client):
            return False
        if client.shown is None:
            client.most = client.connections
        client.shown, client.pushed = self._now(), False
        return True

    def is_shown(self, name: ClientName) -> bool:
        """Return whether a client knows the target's own brokers, and may go on with them."""
        client = self._clients.get(name)
        return self.is_open and client is not None and client.shown is not None

    def _may_be_left(self, topic: str) -> bool:
        """Whether the target knows producers of a topic by the ids that clients have."""
        routes = self._routes
        return topic in routes.topics and not routes.eras.get(topic, 0)

    def _holds_ids(self, client: _Client) -> bool:
        return client.holds_ids and bool(self._routes.ids.own)

    def _is_settled(self, client: _Client) -> bool:
        now, table = self._now(), self._routes.table
        if client.transacts or self._holds_ids(client) or now < client.kept or table.flying:
            return False
        return not len(table) or now - client.since >= SETTLED

    def connections(self, name: ClientName) -> int:
        """Return how many connections a client has."""
        client = self._clients.get(name)
        return client.connections if client is not None else 0

    def retires(self, name: ClientName) -> bool:
        """Return whether to close a connection of a client now, and note that it will be.

        Those of a client that was shown the target's own addresses are closed. One of another that
        may leave is closed once, so that it looks for addresses anew.
        """
        client, now = self._clients.get(name), self._now()
        if client is None or not self.is_open:
            return False
        if client.shown is not None:
            due = now - client.shown >= _TOLD
        else:
            due = not (client.pushed or client.others) and self._is_settled(client)
            client.pushed |= due
        if due:
            _, number = client.replaces
            client.replaces = now + _REPLACED, number + 1
        return due

    def counts(self) -> LeavingCounts:
        """Return how many clients there are."""
        here = [each for each in self._clients.values() if each.connections > 0]
        leaving = sum(each.shown is not None for each in here)
        return LeavingCounts(len(here) - leaving, leaving, self._left)

    def told(self) -> list[str]:
        """Return a sentence about each client that is connected, and why it stays."""
        return [
            f"client {name[1] or 'without an id'} at {name[0]} {self._why(client)}"
            for name, client in self._clients.items()
            if client.connections > 0
        ]

    def _why(self, client: _Client) -> str:
        if client.shown is not None:
            return "leaves: it knows the target's own brokers"
        if not self.is_open:
            return "is connected"
        reasons = (
            (client.transacts, "it writes in transactions"),
            (self._holds_ids(client), "it takes a topic with another id for another topic"),
            (self._now() < client.kept, "it came back; does it reach the target's brokers?"),
            (client.others, "it asks for other topics, or for all"),
        )
        for applies, why in reasons:
            if applies:
                return f"stays: {why}"
        return "may leave" if self._is_settled(client) else "may leave soon"

    def _forget(self) -> None:
        """Forget clients without connections that were heard of longest ago."""
        for name in [*self._clients] if len(self._clients) > MOST else ():
            if len(self._clients) <= MOST:
                return
            if not self._clients[name].connections:
                del self._clients[name]
