"""Other links that write to the same target's topics, found in the shared ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from towpath.ledger.entries import (
    WHOLE_LINK,
    Journal,
    LinkStage,
    LinkState,
    Opened,
    Phase,
    ReadEntry,
    Replayer,
    TransactionalProducer,
)
from towpath.ledger.producers import GENERATIONS
from towpath.model.nouns import NO_TOPIC_ID, LinkName, ProducerId, TopicId, TopicName

_TOPICS, _CREATE, _CHANGE, _DELETE = "topics", "CreateTopic", "SetConfigs", "DeleteTopic"


def is_removed(entry: ReadEntry) -> bool:
    """Whether an entry says that the books of its whole link were removed."""
    if not isinstance(entry, LinkState):
        return False
    return (entry.topic, entry.state) == (WHOLE_LINK, LinkStage.REMOVED)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another link that writes to a topic of this target.

    Attributes:
        link: Its name.
        id: The topic id. A topic that was deleted and created again has another id.
        held: Configs that the link withholds until the mirror topic has caught up.
    """

    link: LinkName
    id: TopicId
    held: frozenset[str] = frozenset()


@dataclass(slots=True)
class Neighbours:
    """All links in a ledger, by the target topics that they opened or created.

    Attributes:
        mine: The link that asks.
    """

    mine: LinkName
    _known: dict[TopicName, dict[tuple[LinkName, TopicId], frozenset[str]]] = field(
        default_factory=dict
    )
    _private: dict[ProducerId, LinkName] = field(default_factory=dict)
    """The link of each private producer id of generation 0."""
    _given: dict[ProducerId, LinkName] = field(default_factory=dict)
    """The link of each producer id that the target gave out."""

    def take(self, entry: ReadEntry) -> None:
        """Add one entry of any link. Entries must come in the order of the ledger.

        What a newer version wrote about another link is passed over.
        """
        if isinstance(entry, Opened):
            known = self._known.setdefault(entry.target_topic, {})
            known.setdefault((entry.link, entry.target_topic_id), frozenset())
            self._private[entry.producer_id] = entry.link
        elif isinstance(entry, TransactionalProducer):
            self._given[entry.writer] = entry.link
        elif isinstance(entry, Replayer):
            self._given[entry.producer_id] = entry.link
        elif isinstance(entry, Journal) and (entry.subject, entry.phase) == (_TOPICS, Phase.DONE):
            self._done(entry)
        elif is_removed(entry):
            self._forget(entry.link)

    def _forget(self, link: LinkName) -> None:
        """Let nothing be of a link whose books were removed."""
        for known in self._known.values():
            for each in [each for each in known if each[0] == link]:
                del known[each]
        for ids in (self._private, self._given):
            for producer in [each for each, of in ids.items() if of == link]:
                del ids[producer]

    def _done(self, entry: Journal) -> None:
        known = self._known.setdefault(TopicName(entry.name), {})
        key = entry.link, entry.topic_id
        if entry.do == _CREATE and entry.owned:
            known[key] = frozenset(entry.step.get("held", ()))
        elif entry.do == _CHANGE and key in known:
            known[key] -= frozenset(entry.step.get("before", ()))
        elif entry.do == _DELETE:
            for each in [each for each in known if each[0] == entry.link]:
                del known[each]

    def of(self, name: TopicName, number: TopicId) -> Iterable[Neighbour]:
        """Return the other links that write to a topic; without topic ids, by its name."""
        merged = self._merged(name, number)
        merged.pop(self.mine, None)
        return [Neighbour(link, number, held) for link, held in sorted(merged.items())]

    def link_of(self, producer: ProducerId) -> LinkName | None:
        """Return the link that writes under a producer id, `None` if unknown."""
        firsts = (ProducerId(producer - number) for number in range(GENERATIONS))
        private = (self._private[each] for each in firsts if each in self._private)
        return self._given.get(producer) or next(private, None)

    def before(self, name: TopicName, number: TopicId) -> LinkName | None:
        """Return the other link that wrote to a topic first, `None` if there is none."""
        first = next(iter(self._merged(name, number)), self.mine)
        return None if first == self.mine else first

    def _merged(self, name: TopicName, number: TopicId) -> dict[LinkName, frozenset[str]]:
        """Return the links of a topic, in the order of the ledger, with what they withhold."""
        merged: dict[LinkName, frozenset[str]] = {}
        for (link, id_), held in self._known.get(name, {}).items():
            if number == id_ or NO_TOPIC_ID in (number, id_):
                merged[link] = merged.get(link, frozenset()) | held
        return merged
