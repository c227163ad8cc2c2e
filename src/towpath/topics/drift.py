"""What a mirror topic that is there needs to have the configs it shall have. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.config import ConfigRules
from towpath.topics.configs import WantedConfigs, equal, untouched, wanted, within
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import UNLIMITED, OwnedTopics
from towpath.topics.steps import SetConfigs


@dataclass(slots=True)
class _TopicComparison:
    """One copy, compared config by config.

    Attributes:
        topic: The topic on the source.
        there: Its mirror topic.
        mine: Configs of the mirror topic that we made.
        waiting: Those that are held back, with their values in the end.
        released: Whether the mirror topic was filled, so that these may have them.
        changes: Configs that need other values, `None` for the target's default.
        foreign: Configs of the mirror topic that neither the source has nor we made.
    """

    topic: Topic
    there: Topic
    mine: frozenset[str]
    waiting: Mapping[str, str | None]
    released: bool
    changes: dict[str, str | None] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)

    def compare(self, asked: WantedConfigs, rules: ConfigRules) -> None:
        """Find out what has to change."""
        skipped = set() if self.released else set(self.waiting)
        for key, value in asked.values.items():
            if key not in skipped and not equal(key, value, self.there.configs.get(key)):
                self.changes[key] = value
        source = within(self.topic.configs, self.there.replication_factor)
        for key in self.there.own.keys() - asked.values.keys() - skipped:
            if not untouched(key) and not equal(key, self.there.own[key], source.get(key)):
                self._beyond(key, rules)

    def _beyond(self, key: str, rules: ConfigRules) -> None:
        """Judge a config that the source does not ask for."""
        if not rules.selects(key):
            if key in self.waiting:
                self.changes[key] = self.waiting[key]
        elif key in self.mine:
            self.changes[key] = None
        else:
            self.foreign.append(key)

    def step(self) -> SetConfigs | None:
        """Return what to do, if anything."""
        if not self.changes:
            return None
        changes = dict(sorted(self.changes.items()))
        return SetConfigs(
            source=self.topic.name,
            target=self.there.name,
            set={key: value for key, value in changes.items() if value is not None},
            remove=tuple(key for key, value in changes.items() if value is None),
            before={key: self.there.own.get(key) for key in changes},
            owned=tuple(key for key in changes if key in self.mine),
            id=self.there.id,
        )

    def notes(self, asked: WantedConfigs) -> list[str]:
        """Return what a person should know."""
        notes = [why for key, why in asked.reasons.items() if key in self.changes]
        notes += asked.notes
        if self.foreign:
            own = ", ".join(f"{key}={self.there.own[key]}" for key in sorted(self.foreign))
            notes.append(
                f"the mirror topic has configs that the source does not have: {own}; they stay, as"
                " this link did not make them"
            )
        if self.waiting and not self.released:
            notes.append(
                f"held back ({UNLIMITED}) until the mirror topic has caught up with the source:"
                f" {', '.join(sorted(self.waiting))}"
            )
        return notes

    def configs(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """Return what will hold for the mirror topic, as far as known."""
        changed = {k: defaults.get(k) if v is None else v for k, v in self.changes.items()}
        after = {**self.there.configs, **changed}
        return {key: value for key, value in after.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Synced:
    """What a mirror topic needs: the step, what to know, and the configs that it then has."""

    step: SetConfigs | None = None
    notes: tuple[str, ...] = ()
    configs: Mapping[str, str] = field(default_factory=dict)


def sync(
    topic: Topic, there: Topic, seen: ObservedTopics, rules: ConfigRules, ours: OwnedTopics
) -> Synced:
    """Compare a mirror topic with what it shall have; with hidden configs it stays as it is."""
    if not there.configs:
        return Synced()
    mine = _mine(there, ours)
    asked = wanted(topic, seen, rules, there.replication_factor, there, mine)
    released = topic.name in ours.caught_up
    copy = _TopicComparison(topic, there, mine, ours.waiting(there.name, there.own), released)
    copy.compare(asked, rules)
    return Synced(copy.step(), tuple(copy.notes(asked)), copy.configs(seen.defaults))


def _mine(there: Topic, ours: OwnedTopics) -> frozenset[str]:
    """Return the configs of a mirror topic that we made; values tell what we may have made."""
    tried = ours.tried.get(there.name, {})
    made = {key for key, value in tried.items() if equal(key, there.own.get(key), value)}
    return ours.set_keys.get(there.name, frozenset()) | made
