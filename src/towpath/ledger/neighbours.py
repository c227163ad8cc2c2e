"""What the ledger knows of the mirror topics of other links: two links may share one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from towpath.ledger.entries import Journal, Opened, Phase, ReadEntry
from towpath.model.nouns import NO_TOPIC_ID, LinkName, TopicId, TopicName

_TOPICS, _CREATE, _CHANGE, _DELETE = "topics", "CreateTopic", "SetConfigs", "DeleteTopic"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another link that writes to a topic of the target.

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
    """All other links, by the topics of the target that they opened or created."""

    _known: dict[TopicName, dict[tuple[LinkName, TopicId], frozenset[str]]] = field(
        default_factory=dict
    )

    def take(self, entry: ReadEntry) -> None:
        """Add one fact of another link, in the order of the ledger.

        What a newer version wrote about another link is passed over.
        """
        if isinstance(entry, Opened):
            known = self._known.setdefault(entry.target_topic, {})
            known.setdefault((entry.link, entry.target_topic_id), frozenset())
        elif isinstance(entry, Journal) and (entry.subject, entry.phase) == (_TOPICS, Phase.DONE):
            self._done(entry)

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
        """Return the other links that write to a topic; without topic ids, its name counts."""
        merged: dict[LinkName, frozenset[str]] = {}
        for (link, id_), held in self._known.get(name, {}).items():
            if number == id_ or NO_TOPIC_ID in (number, id_):
                merged[link] = merged.get(link, frozenset()) | held
        return [Neighbour(link, number, held) for link, held in sorted(merged.items())]
