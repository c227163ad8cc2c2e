"""What earlier steps of the link made of the target. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, assert_never

from towpath.cluster.admin.values import meaning
from towpath.model.nouns import TopicName
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, Step

UNLIMITED = "-1"
"""What limits are that are held back."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A change of settings that was begun, or failed: it may have been done all the same."""

    step: SetConfigs


@dataclass(frozen=True, slots=True)
class Ours:
    """What the link made, and how far it came.

    Attributes:
        created: Topics of the target that it created, each with the one that it is a copy of.
        unsure: Those of them that may be others by now: nothing but their names tells.
        set_keys: Settings of topics of the target that it set.
        tried: Settings that it set if they have these values.
        held: Settings that wait for the copy to be filled, with their values in the end.
        caught_up: Topics of the source whose copies have reached them.
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
    def of(cls, steps: Iterable[Step | Tried], caught_up: Iterable[TopicName] = ()) -> Self:
        """Return what is ours after these steps, the oldest first."""
        created: dict[TopicName, TopicName] = {}
        copies: dict[TopicName, _Copy] = {}
        for each in steps:
            step = each.step if isinstance(each, Tried) else each
            copy = copies.setdefault(step.target, _Copy())
            match each:
                case CreateTopic():
                    created[each.target] = each.source
                    copies[each.target] = _Copy(set(each.configs), {}, dict(each.held))
                case Tried():
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
            created,
            {name: frozenset(copy.mine) for name, copy in copies.items() if copy.mine},
            {name: copy.held for name, copy in copies.items() if copy.held},
            frozenset(caught_up),
            {name: copy.tried for name, copy in copies.items() if copy.tried},
        )

    def waiting(self, copy: TopicName, own: Mapping[str, str]) -> dict[str, str | None]:
        """Return what is held back still of a copy, with the values in the end.

        What another hand set is no longer ours.

        Args:
            copy: Its name.
            own: The settings made on it.
        """
        known = self.held.get(copy, {})
        return {key: value for key, value in known.items() if own.get(key) == UNLIMITED}


@dataclass(slots=True)
class _Copy:
    """What is ours of one copy; see `Ours`."""

    mine: set[str] = field(default_factory=set)
    tried: dict[str, str] = field(default_factory=dict)
    held: dict[str, str | None] = field(default_factory=dict)

    def change(self, step: SetConfigs) -> None:
        """Take in a change that was made."""
        self._look(step)
        self.mine = (self.mine | step.set.keys()) - set(step.remove)
        self.held = {key: value for key, value in self.held.items() if key not in step.before}

    def attempt(self, step: SetConfigs) -> None:
        """Take in a change that was made perhaps; the values of the copy tell."""
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


NOTHING = Ours()
"""What is ours before the first step."""
