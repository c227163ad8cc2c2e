"""What is there: the source's topics that are mirrored, and what the target has of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry, TopicInfo, non_default
from towpath.cluster.rights import Right, lacks
from towpath.config import LinkConfig, TopicsConfig
from towpath.model.errors import ClusterError, ConfigError, RefusedError
from towpath.model.nouns import ClusterId, Side, TopicId, TopicName
from towpath.topics.findings import Cause, Note, Obstacle

_INVALID_CONFIG = "INVALID_CONFIG"
_ON_SOURCE = (Right.READ,)
_ON_COPY = (Right.READ, Right.WRITE, Right.DELETE)
"""Delete is for DeleteRecords, which lets a log start later."""
_ENOUGH = 50
"""Of so many topics at most the settings are asked for when one would do."""

_DEFAULTS = {
    "cleanup.policy": (("log.cleanup.policy", 0),),
    "max.message.bytes": (("message.max.bytes", 0),),
    "message.timestamp.type": (("log.message.timestamp.type", 0),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 0),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ),
}
"""Broker settings that a topic without its own value follows, the first one set; each with the
factor to the topic's unit, 0 for what is no such number."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of either side.

    Attributes:
        name: Its name.
        id: Its id, which a topic made again under the same name does not share.
        partitions: How many it has.
        replication_factor: That of its best replicated partition.
        own: Settings made on the topic itself.
        settings: All that hold for it; empty if we may not see them.
    """

    name: TopicName
    id: TopicId
    partitions: int
    replication_factor: int
    own: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """Both clusters as they were when looked at.

    Attributes:
        source: Topics of the source that match and can be looked at.
        names: The name that each of them has on the target.
        target: Topics of the target that have these names, and those that differ from one only
            by `.` and `_`.
        brokers: Number of the target's brokers.
        one_cluster: Its id, where source and target are the same cluster.
        circular: Topics of that one cluster whose copies match `topics.include` again.
        known: Topic settings that the target knows.
        defaults: What the target gives topics that say nothing, as far as it matters and told.
        unmatched: Names of other topics of the source, to help against typing errors.
        notes: What we could not see and can do without.
        obstacles: Why topics that match cannot be mirrored: those that are not among `source`, and
            those on which the login lacks a right.
    """

    source: tuple[Topic, ...]
    names: Mapping[TopicName, TopicName]
    target: Mapping[TopicName, Topic]
    brokers: int
    known: frozenset[str]
    one_cluster: ClusterId | None = None
    circular: frozenset[TopicName] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=dict)
    unmatched: tuple[TopicName, ...] = ()
    notes: tuple[Note, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()


def observe(source: Admin, target: Admin, config: LinkConfig) -> Observed:
    """Look at both clusters, changing nothing.

    Raises:
        ClusterError: One of them cannot be asked at all.
    """
    found = source.topics()
    matched = [info for info in found.values() if matches(info, config.topics)]
    names, misnamed = target_names([info.name for info in matched if not info.error], config.topics)
    settings = source.configs(names)
    topics = tuple(_topic(found[name], settings[name]) for name in sorted(settings))
    there, target_hidden, known = _on_target(target, topics, names)
    defaults, notes = _defaults(target)
    cluster = source.cluster_id()
    one_cluster = cluster if cluster == target.cluster_id() else None
    return Observed(
        source=topics,
        names={topic.name: names[topic.name] for topic in topics},
        target=there,
        brokers=len(target.brokers()),
        known=known,
        one_cluster=one_cluster,
        circular=_circular(names, config.topics) if one_cluster else frozenset(),
        defaults=defaults,
        unmatched=tuple(sorted(found.keys() - {info.name for info in matched})),
        notes=(*notes, *(Note(name, str(error)) for name, error in target_hidden.items())),
        obstacles=(
            *(Obstacle.of(info.error, info.name) for info in matched if info.error),
            *(Obstacle(name, text, Cause.TOPIC) for name, text in misnamed.items()),
            *(Obstacle.of(error, name) for name, error in settings.failed.items()),
            *_lacking(Side.SOURCE, source, _ON_SOURCE, {name: name for name in settings}),
            *_lacking(Side.TARGET, target, _ON_COPY, _copies(topics, names, there)),
        ),
    )


def matches(info: TopicInfo, topics: TopicsConfig) -> bool:
    """Return whether a topic of the source is mirrored."""
    return topics.matches(info.name, internal=info.internal)


def alike(name: str) -> str:
    """Return what Kafka's metrics make of a name: it allows no two topics with the same."""
    return name.replace(".", "_")


def target_names(
    names: Iterable[TopicName], topics: TopicsConfig
) -> tuple[dict[TopicName, TopicName], dict[TopicName, str]]:
    """Return the name of each topic on the target, and why others can have none there."""
    copies: dict[TopicName, TopicName] = {}
    misnamed: dict[TopicName, str] = {}
    for name in names:
        try:
            copies[name] = topics.target_name(name)
        except ConfigError as error:
            misnamed[name] = str(error)
    return copies, misnamed


def _circular(names: Mapping[TopicName, TopicName], topics: TopicsConfig) -> frozenset[TopicName]:
    return frozenset(name for name, copy in names.items() if topics.matches(copy))


def _on_target(
    target: Admin, topics: Sequence[Topic], names: Mapping[TopicName, TopicName]
) -> tuple[dict[TopicName, Topic], dict[TopicName, ClusterError], frozenset[str]]:
    """Return the copies and what is named like them, what is hidden of these, known settings."""
    everything = target.topics()
    ours = {alike(names[topic.name]) for topic in topics}
    found = {name: info for name, info in everything.items() if alike(name) in ours}
    seen = [name for name, info in found.items() if not info.error]
    settings = target.configs(seen)
    there = {name: _topic(found[name], settings.get(name, {})) for name in seen}
    hidden = {name: info.error for name, info in found.items() if info.error}
    others = sorted(n for n, info in everything.items() if not info.error and n not in found)
    known = (
        _keys(settings)
        or _keys(target.configs(others[:_ENOUGH]))
        or _accepted(target, topics, names)
    )
    return there, {**settings.failed, **hidden}, known


def _keys(settings: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> frozenset[str]:
    """Return the settings that a cluster knows: each topic tells all of them."""
    return frozenset(next(iter(settings.values()), ()))


def _copies(
    topics: Iterable[Topic], names: Mapping[TopicName, TopicName], there: Mapping[TopicName, Topic]
) -> dict[TopicName, TopicName]:
    """Return the copies that exist, each with its topic of the source."""
    copies = {names[topic.name]: topic.name for topic in topics}
    return {copy: name for copy, name in copies.items() if copy in there}


def _lacking(
    side: Side, admin: Admin, rights: Sequence[Right], sources: Mapping[TopicName, TopicName]
) -> Iterator[Obstacle]:
    """Tell which of the rights the login lacks on topics of one side, by topic of the source."""
    for name, missing in admin.lacking(dict.fromkeys(sources, rights)).items():
        yield Obstacle(sources[name], lacks(side, name, missing), Cause.RIGHTS)


def _topic(info: TopicInfo, entries: Mapping[str, ConfigEntry]) -> Topic:
    return Topic(
        info.name,
        info.id,
        len(info.partitions),
        max((len(partition.replicas) for partition in info.partitions), default=1),
        non_default(entries),
        {key: entry.value for key, entry in entries.items() if entry.value is not None},
    )


def _defaults(target: Admin) -> tuple[dict[str, str], list[Note]]:
    found = {}
    try:
        for key, candidates in _DEFAULTS.items():
            value = _first_set(target, candidates)
            if value is not None:
                found[key] = value
    except RefusedError as error:
        text = f"{error}; until then the target's own limits may refuse or delete records"
        return {}, [Note("target", text)]
    return found, []


def _first_set(target: Admin, candidates: Sequence[tuple[str, int]]) -> str | None:
    for name, factor in candidates:
        value = target.broker_config(name)
        if value is not None:
            # Negative numbers mean "no limit" in every unit.
            return str(int(value) * factor) if factor and not value.startswith("-") else value
    return None


def _accepted(
    target: Admin, topics: Sequence[Topic], names: Mapping[TopicName, TopicName]
) -> frozenset[str]:
    """Return the settings in question that the target would create a topic with."""
    values = {key: value for topic in topics for key, value in topic.own.items()}
    if not values or not topics:
        return frozenset(values)
    name = names[topics[0].name]
    if _takes(target, name, values):
        return frozenset(values)
    return frozenset(key for key, value in values.items() if _takes(target, name, {key: value}))


def _takes(target: Admin, name: TopicName, values: Mapping[str, str]) -> bool:
    try:
        target.create_topic(name, 1, 1, values, validate_only=True)
    except RefusedError as error:
        return error.name != _INVALID_CONFIG
    return True
