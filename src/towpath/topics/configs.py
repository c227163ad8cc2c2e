"""The configs that a mirror topic should have. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from towpath.cluster.admin.values import meaning
from towpath.settings import ConfigRules
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.releases import LATEST, SEGMENT_BYTES, explained, raised, tells_times

TIMESTAMP_TYPE = "message.timestamp.type"
POLICY = "cleanup.policy"
MOST_BYTES = "max.message.bytes"
RETENTIONS = ("retention.ms", "retention.bytes")
_MIN_INSYNC = "min.insync.replicas"
_DIFFERENCE = "message.timestamp.difference.max.ms"
TIME_LIMITS = ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
"""They replace `message.timestamp.difference.max.ms` since KIP-937 (Kafka 3.6)."""
TOO_OLD = TIME_LIMITS[0]
"""Refuses records by their age when they arrive, and mirrored records arrive late: so it is held
back until the cutover."""
ANY_TIME = str((1 << 63) - 1)
"""Kafka's value for a time limit that limits nothing."""

# Their values name brokers, or a message format that current brokers no longer support.
_NEVER = frozenset(
    {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "message.format.version",
    }
)

# Tiered storage is set up per cluster; a cluster without it refuses topics that ask for it.
_TIERED = ("remote.", "local.retention.")

_LIMITS = (MOST_BYTES, *TIME_LIMITS, *RETENTIONS)
"""Limits that must not be tighter on the target than on the source: else the target would refuse or
delete records that the source still has."""

CUTS = ("segment.bytes", "segment.ms")
"""When a log begins a new segment. Kafka deletes whole segments, so smaller ones go earlier."""

LAGS = ("min.compaction.lag.ms", "delete.retention.ms")
"""For how long the cleaner keeps records that later ones of their key follow, and tombstones."""

_MOST_BYTES = 1_048_588
"""Kafka's default for `max.message.bytes`."""

_DEFAULT = "the target's default is"

ADJUSTED = frozenset({*_LIMITS, *CUTS, *LAGS, POLICY, _MIN_INSYNC})
"""Configs that a mirror topic may need although they are not set on the source topic."""


@dataclass(frozen=True, slots=True)
class WantedConfigs:
    """The configs that a mirror topic should have.

    Attributes:
        values: The configs to set, with their values.
        reasons: The reasons for values that differ from those on the source topic.
        notes: Further facts that a person should know.
    """

    values: Mapping[str, str]
    reasons: Mapping[str, str]
    notes: tuple[str, ...]


def wanted(
    topic: Topic,
    seen: ObservedTopics,
    rules: ConfigRules,
    replicas: int | None,
    there: Topic | None = None,
    ours: Set[str] = frozenset(),
    *,
    cut_over: bool = False,
) -> WantedConfigs:
    """Return the configs that a mirror topic should have.

    Args:
        topic: The source topic.
        seen: The topics of both clusters, with the target's defaults.
        rules: The rules in the file.
        replicas: The replication factor of the mirror topic, if known.
        there: The mirror topic, if it exists.
        ours: Configs of the mirror topic that the link has set.
        cut_over: Whether the topic was cut over: no record comes any more that keeps its time.
    """
    beneath = _beneath(seen, there, ours)
    values, notes = _copied(topic, seen, rules)
    reasons = {}
    for key, value, why in (
        *_blindly(topic, seen.defaults.keys() | values.keys(), there, ours),
        *_aligned(topic, {**beneath, **values}, "the target has" if there else _DEFAULT),
        *(() if there else _own_times(seen.defaults)),
        *(_times_of_clients(topic, there) if there and cut_over else ()),
    ):
        if key in seen.accepted and (key == TIMESTAMP_TYPE or rules.selects(key)):
            values[key], reasons[key] = value, why
    if tells_times(topic, seen):
        reasons.pop(LATEST, None)  # a section of the plan says why
    for key in rules.override.keys() & seen.known:
        values[key] = rules.override[key]
        reasons.pop(key, None)
    asked = values.get(_MIN_INSYNC), beneath.get(_MIN_INSYNC)
    for key, value, why in _enough_in_sync(topic, *asked, replicas):
        if key in seen.accepted:
            values[key], reasons[key] = value, why
    if TIMESTAMP_TYPE not in rules.override and there is None:
        notes += _times_set_later(topic)
    return WantedConfigs(values, reasons, tuple(notes))


def untouched(key: str) -> bool:
    """Return whether an existing mirror topic keeps a config unless the file names it."""
    return key in _NEVER or key == TIMESTAMP_TYPE or key.startswith(_TIERED)


def stamps_itself(configs: Mapping[str, str]) -> bool:
    """Return whether the broker replaces record timestamps with the append time."""
    return configs.get(TIMESTAMP_TYPE) == "LogAppendTime"


def deletes(configs: Mapping[str, str]) -> bool:
    """Return whether the cleanup policy deletes records."""
    return "delete" in configs.get(POLICY, "delete")


def compacts(configs: Mapping[str, str]) -> bool:
    """Return whether the cleanup policy compacts the topic."""
    return "compact" in configs.get(POLICY, "")


def final_policy(topic: Topic, there: Mapping[str, str], rules: ConfigRules) -> str:
    """Return the cleanup policy that a mirror topic has, or gets once it has caught up.

    One that is compacted in the end counts as compacted from the start: what is done with it must
    hold then, too.

    Args:
        topic: The source topic.
        there: The configs in effect on the mirror topic.
        rules: The rules in the file.
    """
    now = there.get(POLICY, "")
    asked = rules.override.get(POLICY)
    if asked is None:
        asked = topic.configs.get(POLICY, now) if rules.selects(POLICY) else now
    return now if compacts(there) else asked


def largest_batch(configs: Mapping[str, str]) -> int:
    """Return the largest batch in bytes that a topic with these configs accepts."""
    limits = (limit(configs.get(key)) for key in (MOST_BYTES, SEGMENT_BYTES))
    return int(min((each for each in limits if each is not None), default=_MOST_BYTES))


def holding(configs: Mapping[str, str]) -> dict[str, str]:
    """Return a topic's configs, with limits of older brokers under their current names."""
    if _DIFFERENCE not in configs:
        return dict(configs)
    return {**dict.fromkeys(TIME_LIMITS, configs[_DIFFERENCE]), **configs}


def with_replicas(configs: Mapping[str, str], replicas: int) -> dict[str, str]:
    """Return a topic's configs, adjusted to this number of replicas."""
    found = holding(configs)
    in_sync = limit(found.get(_MIN_INSYNC))
    if in_sync is not None and in_sync > replicas:
        found[_MIN_INSYNC] = str(replicas)
    return found


def equal(key: str, one: str | None, other: str | None) -> bool:
    """Return whether two values of a config mean the same; the order of policies is ignored."""
    if key == POLICY and one is not None and other is not None:
        return _parts(one) == _parts(other)
    return meaning(one) == meaning(other)


def _parts(value: str) -> set[str]:
    return {part.strip() for part in value.split(",")}


def limit(value: str | None) -> float | None:
    """Return a limit as a number: infinity if it is negative, `None` if it is not a number."""
    try:
        number = int(value or "")
    except ValueError:
        return None
    return math.inf if number < 0 else number


def tighter(one: str | None, other: str | None) -> bool:
    """Return whether the first limit is known to be lower than the second."""
    left, right = limit(one), limit(other)
    return left is not None and right is not None and left < right


def _beneath(seen: ObservedTopics, there: Topic | None, ours: Set[str]) -> Mapping[str, str]:
    """Return the configs in effect on the target without those that the link has set."""
    if there is None:
        return seen.defaults
    own = there.own.keys() & ours
    default = {key: seen.defaults[key] for key in own if key in seen.defaults}
    return {key: v for key, v in there.configs.items() if key not in own} | default


def _copied(
    topic: Topic, seen: ObservedTopics, rules: ConfigRules
) -> tuple[dict[str, str], list[str]]:
    selected = {key: value for key, value in topic.own.items() if rules.selects(key)}
    asked = {key: v for key, v in selected.items() if not untouched(key)}
    notes = []
    tiered = sorted(
        key
        for key in selected.keys() - rules.override.keys()
        if key.startswith(_TIERED) and not explained(key, seen)
    )
    if tiered:
        notes.append(
            f"not copied, as tiered storage belongs to a cluster: {', '.join(tiered)};"
            " set them on the target if it has tiered storage"
        )
    unknown = sorted(key for key in asked.keys() - seen.known if not explained(key, seen))
    if unknown:
        notes.append(f"not copied, as the target does not know them: {', '.join(unknown)}")
    ignored = sorted(asked.keys() & seen.known - seen.accepted)
    if ignored:
        notes.append(f"not copied, as {seen.kind} does not take them: {', '.join(ignored)}")
    return {key: raised(key, asked[key], seen) for key in asked if key in seen.accepted}, notes


Change = tuple[str, str, str]
"""A config, its value, and why."""


def _blindly(topic: Topic, told: Set[str], there: Topic | None, ours: Set[str]) -> Iterator[Change]:
    """Yield the source's values for configs whose default the target does not tell."""
    configs = holding(topic.configs)
    hidden = ADJUSTED - told - (set() if deletes(configs) else set(CUTS))
    hidden -= set() if compacts(configs) else set(LAGS)
    if there is not None:
        hidden &= there.own.keys() & ours
    for key in sorted(hidden & configs.keys()):
        why = "as on the source: the target does not tell its default"
        yield key, configs[key], f"{key} is set to {configs[key]}, {why}"


def _aligned(topic: Topic, holds: Mapping[str, str], whose: str) -> Iterator[Change]:
    """Yield limits, segments and lags that would be tighter than on the source, and the policy."""
    configs = holding(topic.configs)
    cuts, lags = CUTS if deletes(configs) else (), LAGS if compacts(configs) else ()
    for key in (POLICY, *_LIMITS, *cuts, *lags):
        ours, theirs = configs.get(key), holds.get(key)
        if ours is None or theirs is None:
            continue
        if not equal(key, ours, theirs) if key == POLICY else tighter(theirs, ours):
            said = f"{_shown(ours)}, as on the source: {whose} {_shown(theirs)}"
            yield key, ours, f"{key} is set to {said}"


def _shown(value: str) -> str:
    return value or "nothing"


def _own_times(defaults: Mapping[str, str]) -> Iterator[Change]:
    if stamps_itself(defaults):
        why = (
            f"{TIMESTAMP_TYPE} is set to CreateTime so that records keep their times: the"
            " target's default is LogAppendTime"
        )
        yield TIMESTAMP_TYPE, "CreateTime", why


def _times_set_later(topic: Topic) -> Iterator[str]:
    if stamps_itself(topic.configs):
        yield (
            f"{TIMESTAMP_TYPE}=LogAppendTime is not copied, so that records keep their times;"
            " `towpath cutover` sets it behind the last record"
        )


def _times_of_clients(topic: Topic, there: Topic) -> Iterator[Change]:
    """Yield what was held out of the copy. Whoever set another clock on purpose keeps it."""
    if stamps_itself(topic.configs) and not stamps_itself(there.configs):
        value = topic.configs[TIMESTAMP_TYPE]
        why = (
            f"{TIMESTAMP_TYPE} is set to {value}, as on the source: it was held out of the copy so"
            " that records keep their times, and the topic is cut over"
        )
        yield TIMESTAMP_TYPE, value, why


def held_out(topic: Topic, there: Topic | None, rules: ConfigRules) -> bool:
    """Return whether a cutover must set a config that the mirror topic did not get before."""
    if there is None:
        return False
    named = TIMESTAMP_TYPE in rules.override
    return (not named and any(_times_of_clients(topic, there))) or (
        rules.selects(TOO_OLD)
        and TOO_OLD not in rules.override
        and TOO_OLD in holding(topic.own)
        and tighter(holding(topic.own)[TOO_OLD], holding(there.configs).get(TOO_OLD))
    )


def _enough_in_sync(
    topic: Topic, asked: str | None, inherited: str | None, replicas: int | None
) -> Iterator[Change]:
    number = limit(asked or inherited)
    if replicas is not None and number is not None and number > replicas:
        fitting = with_replicas(
            {_MIN_INSYNC: str(replicas), **({} if asked else topic.configs)}, replicas
        )
        value = fitting[_MIN_INSYNC]
        why = "it must not be above the replication factor"
        yield _MIN_INSYNC, value, f"{_MIN_INSYNC} {value} instead of {asked or inherited}: {why}"
