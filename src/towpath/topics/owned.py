"""What earlier steps of the link made of the target. Pure."""

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
"""What limits are that are held back."""


@dataclass(frozen=True, slots=True)
class UncertainChange:
    """A change of configs that was begun, or failed: it may have been done all the same."""

    step: SetConfigs


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedTopics:
    """What the link made, and how far it came.

    Attributes:
        created: Topics of the target that it created, each with the one that it is a mirror topic
            of.
        unsure: Those of them that may be others by now: nothing but their names tells.
        set_keys: Configs of topics of the target that it set.
        tried: Configs that it set if they have these values.
        held: Configs that wait for the mirror topic to be filled, with their values in the end.
        caught_up: Topics of the source whose mirror topics have reached them.
        begun: Whether a run of the link has copied before: then new topics are copied whole.
    """

    created: Mapping[TopicName, TopicName] = field(default_factory=dict)
    set_keys: Mapping[TopicName, frozenset[str]] = field(default_factory=dict)
    held: Mapping[TopicName, Mapping[str, str | None]] = field(default_factory=dict)
    caught_up: frozenset[TopicName] = frozenset()
    tried: Mapping[TopicName, Mapping[str, str]] = field(default_factory=dict)
    unsure: frozenset[TopicName] = frozenset()
    begun: bool = False

    @classmethod
    def of(
        cls, steps: Iterable[TopicStep | UncertainChange], caught_up: Iterable[TopicName] = ()
    ) -> Self:
        """Return what is ours after these steps, the oldest first."""
        created: dict[TopicName, TopicName] = {}
        copies: dict[TopicName, _OwnedTopic] = {}
        for each in steps:
            step = each.step if isinstance(each, UncertainChange) else each
            copy = copies.setdefault(step.target, _OwnedTopic())
            match each:
                case CreateTopic():
                    created[each.target] = each.source
                    copies[each.target] = _OwnedTopic(set(each.configs), {}, dict(each.held))
                case UncertainChange():
                    copy.attempt(each.step)
                case SetConfigs():
                    copy.change(each)
                case DeleteTopic():
                    created.pop(each.target, None)
                    copies.pop(each.target)
                case AddPartitions():
                    pass
                case _:
                    assert_never(each)
        return cls(
            created=created,
            set_keys={name: frozenset(copy.mine) for name, copy in copies.items() if copy.mine},
            held={name: copy.held for name, copy in copies.items() if copy.held},
            caught_up=frozenset(caught_up),
            tried={name: copy.tried for name, copy in copies.items() if copy.tried},
        )

    def waiting(self, copy: TopicName, own: Mapping[str, str]) -> dict[str, str | None]:
        """Return what is held back still of a mirror topic, with the values in the end.

        What another hand set is no longer ours.

        Args:
            copy: Its name.
            own: The configs made on it.
        """
        known = self.held.get(copy, {})
        return {key: value for key, value in known.items() if own.get(key) == UNLIMITED}


@dataclass(slots=True)
class _OwnedTopic:
    """What is ours of one mirror topic; see `OwnedTopics`."""

    mine: set[str] = field(default_factory=set)
    tried: dict[str, str] = field(default_factory=dict)
    held: dict[str, str | None] = field(default_factory=dict)

    def change(self, step: SetConfigs) -> None:
        """Take in a change that was made."""
        self._look(step)
        self.mine = (self.mine | step.set.keys()) - set(step.remove)
        self.held = {key: value for key, value in self.held.items() if key not in step.before}

    def attempt(self, step: SetConfigs) -> None:
        """Take in a change that was made perhaps; the values of the mirror topic tell."""
        self._look(step)
        new = {key: value for key, value in step.set.items() if key not in self.mine}
        kept = {key: step.before.get(key) for key in step.remove if key in self.mine}
        self.mine -= kept.keys()
        self.tried |= {key: value for key, value in {**new, **kept}.items() if value is not None}

    def _look(self, step: SetConfigs) -> None:
        """Learn from what was there before a step."""
        self.mine |= set(step.owned)
        there = {key: meaning(value) for key, value in step.before.items()}
        self.mine |= {key for key, v in self.tried.items() if there.get(key) == meaning(v)}
        self.tried = {key: v for key, v in self.tried.items() if key not in step.before}


NOTHING = OwnedTopics()
"""What is ours before the first step."""


def ours_of(books: LinkBooks, ids: Mapping[TopicName, TopicId]) -> OwnedTopics:
    """Return what the link did to topics that are still the same.

    Args:
        books: What the ledger knows of the link.
        ids: The topics that the target has now.
    """
    # In the order of the journal. No clock is asked: those of machines differ.
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
    )


def _outcome(entry: Journal) -> Iterator[TopicStep | UncertainChange]:
    """Give what a step came to, as far as the journal tells."""
    step = KINDS.from_data(entry.step, "ledger")
    if isinstance(step, SetConfigs) and entry.phase is not Phase.DONE:
        yield UncertainChange(step)
    else:
        yield step


def _counts(entry: Journal, ids: Mapping[TopicName, TopicId]) -> bool:
    """Whether the link did what the entry says, or may have, to a topic that is still the same.

    Where there are no ids (brokers older than Kafka 2.8, and some that only speak its protocol) a
    topic of the same name is taken for the same. A topic that was found there is not ours.
    """
    now = ids.get(TopicName(entry.name))
    then = entry.topic_id or entry.step.get("id", NO_TOPIC_ID)
    if now is None or (NO_TOPIC_ID not in (now, then) and now != then):
        return False
    if entry.do == CreateTopic.__name__:
        return entry.owned and entry.phase is not Phase.FAILED
    return entry.do != DeleteTopic.__name__ or entry.phase is Phase.DONE
