"""Topics that other links promoted, from which clients are kept here. Blocking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from towpath.gateway.frames import ClientName
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.ledger.entries import Promoted
from towpath.model.nouns import NO_TOPIC_ID, TopicName
from towpath.model.reasons import Reason, ReasonCode

_MOST = 20


class OtherLinks:
    """Keeps clients from topics that other links promoted, and names those that came.

    Args:
        at: The link and the gateway.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self._known = dict[TopicName, Promoted]()

    @property
    def is_behind(self) -> bool:
        """Whether the ledger has promotions that the connections do not know of yet."""
        return self._at.book.of_others != self._known

    def bar(self, *, mirrors: bool) -> None:
        """Keep clients from the topics that the ledger has now.

        Args:
            mirrors: Whether clients read mirrors: what the link does not have is the target's then.
        """
        at, self._known = self._at, self._at.book.of_others
        found = {} if mirrors else self._known
        ids = {*ids_of(found)}

        def bar() -> None:
            of_others = at.gateway.routes.of_others
            of_others.links = {name: record.link for name, record in found.items()}
            of_others.ids = ids

        at.call(bar)

    def turned_back(self) -> list[Reason]:
        """Return a reason for each client that came here with records of another link's topics."""
        of_others = self._at.gateway.routes.of_others

        def taken() -> set[tuple[ClientName, str]]:
            found, of_others.turned_back = of_others.turned_back, set()
            return found

        return [
            Reason.of(
                ReasonCode.PROMOTE_OTHER_LINK,
                topic=topic,
                link=self._known[TopicName(topic)].link,
                client=f"{name or 'without an id'} at {host}",
            )
            for (host, name), topic in sorted(self._at.call(taken))[:_MOST]
            if topic in self._known
        ]


def ids_of(found: Mapping[TopicName, Promoted]) -> Iterator[UUID]:
    """Yield the ids of topics on both clusters, of those that have one.

    Args:
        found: The last move of each topic.
    """
    for name, record in found.items():
        for topic in record.topics:
            ids = (topic.source_id, topic.target_id) if topic.topic == name else ()
            yield from (UUID(one) for one in ids if one != NO_TOPIC_ID)
