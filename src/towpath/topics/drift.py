"""Drift of an existing mirror topic's configs, and the step that corrects them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from towpath.ledger.entries.foretold import RELEASE
from towpath.model.reasons import Reason
from towpath.settings import ConfigRules
from towpath.topics.cleaning import withheld
from towpath.topics.configs import (
    MOST_BYTES,
    POLICY,
    RETENTIONS,
    TIME_LIMITS,
    TOO_OLD,
    WantedConfigs,
    compacts,
    deletes,
    equal,
    holding,
    tighter,
    untouched,
    wanted,
    with_replicas,
)
from towpath.topics.foresight import NOTHING, Foresight, note_of_meant
from towpath.topics.held_there import Holder
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import UNLIMITED, OwnedTopics
from towpath.topics.releases import SEGMENT_BYTES
from towpath.topics.retention import differs
from towpath.topics.steps import SetConfigs


@dataclass(slots=True)
class _TopicComparison:
    """A mirror topic, compared with its source topic config by config.

    Attributes:
        topic: The source topic.
        there: The mirror topic.
        mine: Configs of the mirror topic that the link has set.
        waiting: Configs that are held back, with their final values.
        filled: Whether the mirror topic has caught up.
        foreseen: What the target would delete without the configs that are held back.
        changes: Configs that need other values, `None` for the target's default.
        foreign: Configs of the mirror topic that the source does not have and the link has not set.
        later: Configs that change once the mirror topic has caught up, as the target would refuse
            records with them that the source took before it had them itself.
        late: Configs that change at the cutover, as mirrored records arrive late.
        held: Configs that are held back from now on, with their final values.
    """

    topic: Topic
    there: Topic
    mine: frozenset[str]
    waiting: Mapping[str, str | None]
    filled: bool
    foreseen: Foresight = NOTHING
    changes: dict[str, str | None] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    later: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    held: dict[str, str | None] = field(default_factory=dict)

    @property
    def kept(self) -> frozenset[str]:
        """The configs that stay withheld from the mirror topic."""
        if not self.filled:
            return frozenset(self.waiting)
        return frozenset(self.waiting.keys() & (self.late | withheld(self.foreseen)))

    def compare(self, asked: WantedConfigs, rules: ConfigRules) -> None:
        """Find the configs that must change."""
        waits = tightened(asked.values, self.there.configs) - self.waiting.keys()
        self.later = waits & (self.late | withheld(self.foreseen)) if self.filled else waits
        if POLICY in self.later and not deletes(self.topic.configs):
            self.later |= self._without_policy(asked.values)
        skipped = self.kept | self.later
        for key, value in asked.values.items():
            if key not in skipped and not equal(key, value, self.there.configs.get(key)):
                self.changes[key] = value
        source = with_replicas(self.topic.configs, self.there.replication_factor)
        for key in self.there.own.keys() - asked.values.keys() - skipped:
            if not untouched(key) and not equal(key, self.there.own[key], source.get(key)):
                self._beyond(key, rules)

    def _without_policy(self, wanted: Mapping[str, str]) -> frozenset[str]:
        """Return limits of a compacted topic by which the target would delete until it is one."""
        now = self.there.configs
        return frozenset(k for k in RETENTIONS if tighter(wanted.get(k), now.get(k)))

    def _beyond(self, key: str, rules: ConfigRules) -> None:
        """Decide about a config that the source does not ask for."""
        if not rules.selects(key):
            if key in self.waiting:
                self.changes[key] = self.waiting[key]
        elif key in self.mine:
            self.changes[key] = None
        else:
            self.foreign.append(key)

    def hold(self, values: Mapping[str, str]) -> None:
        """Withhold configs, by giving the topic these values instead of its own or the source's."""
        for key, value in values.items():
            self.held[key] = self.changes.get(key, self.there.own.get(key))
            self.changes[key] = value

    def step(self) -> SetConfigs | None:
        """Return the step that changes the configs, if any has to change."""
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
            held=dict(sorted(self.held.items())),
        )

    def notes(self, asked: WantedConfigs) -> list[str]:
        """Return notes for people about the configs."""
        notes = [why for key, why in asked.reasons.items() if key in self.changes]
        notes += asked.notes
        if self.foreign:
            own = ", ".join(f"{key}={self.there.own[key]}" for key in sorted(self.foreign))
            notes.append(
                f"the mirror topic has configs that the source does not have: {own}; they stay, as"
                " this link did not set them"
            )
        notes += self._held()
        refusing = (self.kept | self.later) - set(RETENTIONS)
        refusing -= withheld(self.foreseen) if self.filled else frozenset()
        for keys, why in (
            (
                refusing - self.late,
                "held back until the mirror topic has caught up with the source, as the target"
                " would refuse records that the source took before",
            ),
            (
                refusing & self.late,
                "held back until the cutover, as the target would refuse records that arrive late",
            ),
            (
                self.later & frozenset(RETENTIONS),
                "held back as long as cleanup.policy is, as only the target would delete by it",
            ),
        ):
            if keys:
                wanted = (f"{key}={asked.values.get(key, 'default')}" for key in sorted(keys))
                notes.append(f"{why}: {', '.join(wanted)}")
        if self.foreseen.reasons and self.foreseen.meant:
            notes.append(note_of_meant(self.foreseen))
        return notes

    def _held(self) -> Iterator[str]:
        """Yield what is held back of cleaning, until when, and why it may stay so."""
        foreseen, waits = self.foreseen, self.kept | self.later
        if self.held:
            now = ", ".join(f"{key}={self.changes[key]}" for key in sorted(self.held))
            yield f"held back from now on ({now}): {foreseen}; {RELEASE}"
        stays = sorted(waits & withheld(foreseen))
        if self.filled and stays:
            now = ", ".join(dict.fromkeys(self.there.configs.get(key, UNLIMITED) for key in stays))
            yield f"{', '.join(stays)} stays held back ({now}): {foreseen}; {RELEASE}"
        elif retained := ", ".join(sorted(self.kept & set(RETENTIONS))):
            text = f"held back ({UNLIMITED}) until the mirror topic has caught up with the source"
            then = f"; it stays so then: {foreseen}" if foreseen.keeps else ""
            yield f"{text}: {retained}{then}"
        elif stays:
            yield f"{', '.join(stays)} stays held back when it has caught up, too: {foreseen}"

    def configs(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """Return the configs that will be in effect on the mirror topic, as far as known."""
        return in_effect(self.there, self.changes, defaults)


def in_effect(
    there: Topic, changes: Mapping[str, str | None], defaults: Mapping[str, str]
) -> dict[str, str]:
    """Return the configs in effect on a topic after changes, as far as known.

    Args:
        there: The topic.
        changes: Configs with their new values, `None` for the default.
        defaults: The target's defaults.
    """
    changed = {k: defaults.get(k) if v is None else v for k, v in changes.items()}
    after = {**there.configs, **changed}
    return {key: value for key, value in after.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Synced:
    """The outcome of a comparison with the source topic.

    Attributes:
        step: The step that changes the configs, if any has to change.
        notes: Texts that a person should know.
        configs: The configs in effect after the step.
        at_risk: Why the target keeps less than the source after the step, and nobody holds it back.
    """

    step: SetConfigs | None = None
    notes: tuple[str, ...] = ()
    configs: Mapping[str, str] = field(default_factory=dict)
    at_risk: tuple[Reason, ...] = ()


def sync(
    topic: Topic, there: Topic, seen: ObservedTopics, rules: ConfigRules, ours: OwnedTopics
) -> Synced:
    """Compare a mirror topic with its source topic; change nothing if configs are hidden.

    Args:
        topic: The source topic.
        there: The mirror topic.
        seen: What both clusters hold.
        rules: What the file says of configs.
        ours: What earlier steps of the link made, and what they hold back.
    """
    if not there.configs:
        return Synced()
    mine = _mine(there, ours)
    cut_over = topic.name in ours.cut_over
    asked = wanted(topic, seen, rules, there.replication_factor, there, mine, cut_over=cut_over)
    waiting = ours.waiting(there.name, there.own)
    filled, foreseen = topic.name in ours.caught_up, seen.foresights.get(topic.name, NOTHING)
    late = frozenset(() if cut_over else {TOO_OLD} - rules.override.keys())
    mirror = _TopicComparison(topic, there, mine, waiting, filled, foreseen, late=late)
    mirror.compare(asked, rules)
    if topic.name in seen.foresights and not foreseen.meant and not cut_over:
        holder = Holder.of(there, seen, rules, ours)
        mirror.hold(holder.values(topic, mirror.configs(seen.defaults)) or {})
    after = mirror.configs(seen.defaults)
    at_risk = () if cut_over else tuple(differs(topic.configs, after, rules))
    return Synced(mirror.step(), tuple(mirror.notes(asked)), after, at_risk)


def released(
    topic: Topic,
    there: Topic,
    seen: ObservedTopics,
    rules: ConfigRules,
    ours: OwnedTopics,
    *,
    filled: bool = True,
) -> Mapping[str, str]:
    """Return the configs in effect on a mirror topic once none is held back.

    Args:
        topic: The source topic.
        there: The mirror topic.
        seen: What both clusters hold.
        rules: What the file says of configs.
        ours: What earlier steps of the link made, and what they hold back.
        filled: Whether it has caught up; otherwise configs that wait for that stay held back.
    """
    mine = _mine(there, ours)
    asked = wanted(topic, seen, rules, there.replication_factor, there, mine)
    waiting = ours.waiting(there.name, there.own)
    mirror = _TopicComparison(topic, there, mine, waiting, filled)
    mirror.compare(asked, rules)
    return mirror.configs(seen.defaults)


def tightened(wanted: Mapping[str, str], there: Mapping[str, str]) -> frozenset[str]:
    """Return the configs with which a mirror topic would reject records that it now accepts.

    Args:
        wanted: The configs that it should have.
        there: Those in effect on it.
    """
    found = (
        {POLICY} if compacts({POLICY: wanted.get(POLICY, "")}) and not compacts(there) else set()
    )
    segment, now = wanted.get(SEGMENT_BYTES), there.get(SEGMENT_BYTES)
    if tighter(segment, now) and tighter(segment, there.get(MOST_BYTES)):
        found.add(SEGMENT_BYTES)
    found |= {k for k in (MOST_BYTES, *TIME_LIMITS) if tighter(wanted.get(k), there.get(k))}
    return frozenset(found)


def refusing(
    topic: Topic,
    there: Topic,
    ours: OwnedTopics,
    override: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Return whether a mirror topic will get configs that may reject the source's older records.

    Args:
        topic: The source topic.
        there: The mirror topic.
        ours: What the link has made on the target.
        override: The configs that the file sets.
    """
    waiting = ours.waiting(there.name, there.own).keys() - set(RETENTIONS)
    # A limit by default of the source is not set on the mirror topic where that takes more.
    configs = {**{k: v for k, v in topic.configs.items() if k in _ALSO_DEFAULT}, **topic.own}
    asked = {**holding(configs), **override}
    return bool(waiting) or bool(there.configs and tightened(asked, there.configs))


_ALSO_DEFAULT = frozenset({POLICY, SEGMENT_BYTES})


def _mine(there: Topic, ours: OwnedTopics) -> frozenset[str]:
    """Return the configs that the link has set; values decide about uncertain changes."""
    tried = ours.tried.get(there.name, {})
    made = {key for key, value in tried.items() if equal(key, there.own.get(key), value)}
    return ours.set_keys.get(there.name, frozenset()) | made
