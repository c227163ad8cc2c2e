"""What earlier steps of the link made of the target. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, assert_never

from towpath.model.nouns import TopicName
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, Step


@dataclass(frozen=True, slots=True)
class Ours:
    """What the link made, and how far it came.

    Attributes:
        created: Topics of the target that it created, each with the one that it is a copy of.
        set_keys: Settings of topics of the target that it set.
        held: Those of them that wait for the copy to be filled, with their values in the end.
        caught_up: Topics of the source whose copies have reached them.
    """

    created: Mapping[TopicName, TopicName] = field(default_factory=dict)
    set_keys: Mapping[TopicName, frozenset[str]] = field(default_factory=dict)
    held: Mapping[TopicName, Mapping[str, str | None]] = field(default_factory=dict)
    caught_up: frozenset[TopicName] = frozenset()

    @classmethod
    def of(cls, steps: Iterable[Step], caught_up: Iterable[TopicName] = ()) -> Self:
        """Return what is ours after these steps, the oldest first."""
        created: dict[TopicName, TopicName] = {}
        set_keys: dict[TopicName, frozenset[str]] = {}
        held: dict[TopicName, Mapping[str, str | None]] = {}
        for step in steps:
            name = step.target
            match step:
                case CreateTopic():
                    created[name] = step.source
                    set_keys[name] = frozenset(step.configs)
                    held[name] = step.held
                case SetConfigs():
                    before = set_keys.get(name, frozenset())
                    set_keys[name] = (before | step.set.keys()) - set(step.remove)
                    waiting = held.get(name, {})
                    held[name] = {k: v for k, v in waiting.items() if k not in step.before}
                case DeleteTopic():
                    for known in (created, set_keys, held):
                        known.pop(name, None)
                case AddPartitions():
                    pass
                case _:
                    assert_never(step)
        return cls(created, set_keys, held, frozenset(caught_up))


NOTHING = Ours()
"""What is ours before the first step."""
