"""Topics that another link between the same clusters has promoted. For one event loop.

Their clients belong to a gateway of that link. Here they would write to the source what nobody
copies, and idempotent ones would end: the target took what follows on what the source knows. So
their requests are sent back as if the leader were elsewhere, which clients try again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field

from towpath.gateway.frames import ClientName

MOST = 1000
"""Clients that are remembered until they are told of."""


@dataclass(slots=True)
class TopicsOfOthers:
    """Topics of other links, which clients find elsewhere.

    Attributes:
        links: The link that promoted each.
        ids: Their ids on both clusters.
        turned_back: Clients that wrote to one lately, with its name.
    """

    links: Mapping[str, str] = field(default_factory=dict)
    ids: Set[object] = frozenset()
    turned_back: set[tuple[ClientName, str]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.links)

    def __contains__(self, topic: object) -> bool:
        return topic in self.links

    def has_none_of(self, topics: Iterable[str]) -> bool:
        """Return whether none of some topics is one of them."""
        return self.links.keys().isdisjoint(topics)

    def turn_back(self, client: ClientName, topics: Collection[str]) -> None:
        """Note that a client writes to some of them, if they are."""
        if self.links and len(self.turned_back) < MOST:
            self.turned_back |= {(client, topic) for topic in topics if topic in self.links}
