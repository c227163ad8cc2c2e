"""The topics and configs that the link has made on the target, from its journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Self, assert_never

from towpath.cluster.admin.values import meaning
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Journal, Phase
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.topics.steps import (
    KINDS,
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    SetConfigs,
    TopicStep,
)

UNLIMITED = "-1"
"""The value of a limit while it is held back."""


DELETE = "delete"
"""The cleanup policy of a topic that is compacted in the end, likewise."""


@dataclass(frozen=True, slots=True)
class HeldConfigs:
    """Configs that are withheld from a mirror topic.

    Attributes:
        meanwhile: Their values while the topic is filled.
        final: Their values afterwards; `None` for the target's default.
    """

    meanwhile: Mapping[str, str] = field(default_factory=dict)
    final: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UncertainChange:
    """A change of configs that was begun or failed, and may have taken effect."""

    step: SetConfigs


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedTopics:
    """The topics and configs that the link has made, and the mirror topics caught up.

    Attributes:
        created: Mirror topics that the link created, each with its source topic.
        unsure: Those mirror topics that may have been replaced: only their names identify them.
        set_keys: Configs that the link has set, by mirror topic.
        tried: Configs that the link has set if they have these values, by mirror topic.
        held: Configs that are held back until the mirror topic is filled, with their final values.
        meanwhile: The values that these configs have until then.
        caught_up: Source topics whose mirror topics have caught up.
        begun: Whether a run of the link has copied before; then new topics are copied from their
            beginning.
        cut_over: Source topics all of whose copied partitions were cut over.
    """

    created: Mapping[TopicName, TopicName] = field(default_factory=dict)
    set_keys: Mapping[TopicName, frozenset[str]] = field(default_factory=dict)
    held: Mapping[TopicName, Mapping[str, str | None]] = field(default_factory=dict)
    meanwhile: Mapping[TopicName, Mapping[str, str]] = field(default_factory=dict)
    caught_up: frozenset[TopicName] = frozenset()
    tried: Mapping[TopicName, Mapping[str, str]] = field(default_factory=dict)
    unsure: frozenset[TopicName] = frozenset()
    begun: bool = False
    cut_over: frozenset[TopicName] = frozenset()

    @classmethod
    def of(
        cls, steps: Iterable[TopicStep | UncertainChange], caught_up: Iterable[TopicName] = ()
    ) -> Self:
        """Return the topics and configs that these steps have made; the oldest step is first."""
        created: dict[TopicName, TopicName] = {}
        mirrors: dict[TopicName, _OwnedTopic] = {}
        for each in steps:
            step = each.step if isinstance(each, UncertainChange) else each
            mirror = mirrors.setdefault(step.target, _OwnedTopic())
            match each:
                case CreateTopic():
                    created[each.target] = each.source
                    made = _OwnedTopic(set(each.configs))
                    made.hold(each.held, each.configs)
                    mirrors[each.target] = made
                case UncertainChange():
                    mirror.attempt(each.step)
                case SetConfigs():
                    mirror.change(each)
                case DeleteTopic():
                    created.pop(each.target, None)
                    mirrors.pop(each.target)
                case AddPartitions():
                    pass
                case _:
                    assert_never(each)
        return cls(
            created=created,
            set_keys={
                name: frozenset(mirror.mine) for name, mirror in mirrors.items() if mirror.mine
            },
            held={name: mirror.held for name, mirror in mirrors.items() if mirror.held},
            meanwhile={name: mirror.meanwhile for name, mirror in mirrors.items() if mirror.held},
            caught_up=frozenset(caught_up),
            tried={name: mirror.tried for name, mirror in mirrors.items() if mirror.tried},
        )

    def waiting(self, mirror: TopicName, own: Mapping[str, str]) -> dict[str, str | None]:
        """Return the configs still withheld from a mirror topic, with their final values.

        A config that somebody else has set since is no longer withheld.

        Args:
            mirror: The name of the mirror topic.
            own: The configs set on it.
        """
        known, meanwhile = self.held.get(mirror, {}), self.meanwhile.get(mirror, {})
        return {
            key: value
            for key, value in known.items()
            if own.get(key) == meanwhile.get(key, UNLIMITED)
        }


@dataclass(slots=True)
class _OwnedTopic:
    """What the link has made of one mirror topic; see `OwnedTopics`."""

    mine: set[str] = field(default_factory=set)
    tried: dict[str, str] = field(default_factory=dict)
    held: dict[str, str | None] = field(default_factory=dict)
    meanwhile: dict[str, str] = field(default_factory=dict)

    def hold(self, held: Mapping[str, str | None], values: Mapping[str, str]) -> None:
        """Add withheld configs, with their final values and the values set until then."""
        self.held |= held
        self.meanwhile |= {key: values[key] for key in held if key in values}

    def change(self, step: SetConfigs) -> None:
        """Add a change of configs that was made."""
        self._look(step)
        self.mine = (self.mine | step.set.keys()) - set(step.remove)
        self.held = {key: value for key, value in self.held.items() if key not in step.before}
        self.hold(step.held, step.set)

    def attempt(self, step: SetConfigs) -> None:
        """Add a change of configs that may have been made; the mirror topic's values decide."""
        self._look(step)
        self.hold(step.held, step.set)
        new = {key: value for key, value in step.set.items() if key not in self.mine}
        kept = {key: step.before.get(key) for key in step.remove if key in self.mine}
        self.mine -= kept.keys()
        self.tried |= {key: value for key, value in {**new, **kept}.items() if value is not None}

    def _look(self, step: SetConfigs) -> None:
        """Learn from the values that a step found."""
        self.mine |= set(step.owned)
        there = {key: meaning(value) for key, value in step.before.items()}
        self.mine |= {key for key, v in self.tried.items() if there.get(key) == meaning(v)}
        self.tried = {key: v for key, v in self.tried.items() if key not in step.before}


NOTHING = OwnedTopics()
"""What the link has made before its first step."""


def ours_of(books: LinkBooks, ids: Mapping[TopicName, TopicId]) -> OwnedTopics:
    """Return the link's topics and configs that still exist unchanged.

    Args:
        books: What the ledger knows of the link.
        ids: The ids of the topics that the target has now.
    """
    # The order is that of the journal, as the clocks of machines differ.
    of_topics = (e for e in books.journal.values() if e.subject == CreateTopic.subject)
    known = [entry for entry in of_topics if _counts(entry, ids)]
    ours = OwnedTopics.of(chain.from_iterable(map(_outcome, known)))
    made = {
        TopicName(entry.name): entry.topic_id
        for entry in known
        if entry.do == CreateTopic.__name__ and entry.phase is Phase.DONE
    }
    return replace(
        ours,
        created={name: of for name, of in ours.created.items() if name in made},
        unsure=frozenset(n for n, id_ in made.items() if NO_TOPIC_ID in (id_, ids[n])),
        begun=books.begun,
        cut_over=cut_over(books),
    )


def cut_over(books: LinkBooks) -> frozenset[TopicName]:
    """Return the source topics all of whose copied partitions were cut over."""
    known = books.partitions.items()
    left = {tp.topic for tp, each in known if each.opened is not None and each.cut is None}
    return frozenset(tp.topic for tp, each in known if each.cut is not None) - left


def _outcome(entry: Journal) -> Iterator[TopicStep | UncertainChange]:
    """Yield the outcome of a step, as far as the journal tells."""
    step = KINDS.from_data(entry.step, "ledger")
    if isinstance(step, SetConfigs) and entry.phase is not Phase.DONE:
        yield UncertainChange(step)
    else:
        yield step


def _counts(entry: Journal, ids: Mapping[TopicName, TopicId]) -> bool:
    """Whether the link did, or may have done, what an entry says to a topic that is still the same.

    Without topic ids (brokers older than Kafka 2.8, and some that only speak its protocol) a topic
    of the same name counts as the same. A topic that existed before the link is not its own.
    """
    now = ids.get(TopicName(entry.name))
    then = entry.topic_id or entry.step.get("id", NO_TOPIC_ID)
    if now is None or (NO_TOPIC_ID not in (now, then) and now != then):
        return False
    if entry.do == CreateTopic.__name__:
        return entry.owned and entry.phase is not Phase.FAILED
    return entry.do != DeleteTopic.__name__ or entry.phase is Phase.DONE
