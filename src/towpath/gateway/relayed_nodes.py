"""The brokers of a cluster as clients of a gateway see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.cluster.connect.exchange import Address
from towpath.cluster.metadata import Broker

SHIFT = 1_000_000
"""What is added to the ids of the source's brokers: the target's keep theirs, so that a client that
leaves the gateway knows them already."""


@dataclass(slots=True)
class RelayedNode:
    """A broker, and the address under which clients reach it.

    Attributes:
        shown: Where clients reach it.
        broker: Where it is itself.
        rack: Its rack, `None` for none.
    """

    shown: Address
    broker: Address
    rack: str | None = None


class RelayedNodes:
    """The brokers that the gateway relays to.

    Args:
        host: The host that clients are told.
        port: That of the gateway's first listener; the broker N has the port behind it by N.
        named: Addresses that the file names, by the broker's id.
        opened: Called with each new node and its id, before a client hears of it.
        shift: What is added to ids of brokers, for clients.
        pattern: The name of each broker at the first listener's port, with `{id}` for its id as
            clients know it; "" for a port of its own.
    """

    def __init__(
        self,
        host: str,
        port: int,
        named: Mapping[int, Address],
        opened: Callable[[int, RelayedNode], None],
        shift: int = SHIFT,
        pattern: str = "",
    ) -> None:
        self._host, self._port, self._named, self._opened = host, port, named, opened
        self._shift, self._pattern = shift, pattern
        self._nodes: dict[int, RelayedNode] = {}

    def learn(self, brokers: Iterable[Broker]) -> None:
        """Add brokers, or update the addresses of known ones."""
        for broker in brokers:
            node = self._nodes.get(broker.id)
            if node is None:
                shown = self._named.get(broker.id) or self._place(broker.id)
                node = self._nodes[broker.id] = RelayedNode(shown, (broker.host, broker.port))
                self._opened(broker.id, node)
            node.broker = broker.host, broker.port
            node.rack = broker.rack or node.rack  # not all answers tell it

    def _place(self, number: int) -> Address:
        if self._pattern:
            return self._pattern.replace("{id}", str(self.shown(number))), self._port
        return self._host, self._port + 1 + number

    def address(self, number: int) -> Address:
        """Return the address under which clients reach a known broker."""
        return self._nodes[number].shown

    def shown(self, number: int) -> int:
        """Return the id under which clients know a broker; -1 stays "none"."""
        return number + self._shift if number >= 0 else number

    def broker(self, number: int) -> Address | None:
        """Return the broker's own address, `None` for an unknown broker."""
        node = self._nodes.get(number)
        return node.broker if node is not None else None

    def __iter__(self) -> Iterator[tuple[int, RelayedNode]]:
        return iter(sorted(self._nodes.items()))


def shown(number: int) -> int:
    """Return the id under which clients know a broker of the source; -1 stays "none"."""
    return number + SHIFT if number >= 0 else number


def hidden(number: int) -> int:
    """Return the source's own id of a broker that a client names."""
    return number - SHIFT if number >= SHIFT else number
