"""Observation of the source topics to mirror, and of the mirror topics on the target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from types import MappingProxyType

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry, TopicInfo, non_default
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicName
from towpath.model.target_kinds import TargetKind
from towpath.settings import ClusterConfig, LinkConfig, Replicas, TopicsConfig
from towpath.topics.cleaners import CleanerSeen, look_at_cleaner
from towpath.topics.defaults import (
    DEFAULTS,
    ask_defaults,
    inherited,
    keys,
    known_for,
    least_taken,
    replicas_possible,
)
from towpath.topics.observed import ObservedTopics, Orphan, SourceTopics, Topic, name_in_metrics
from towpath.topics.owned import NOTHING, OwnedTopics
from towpath.topics.policies import FIRST as EMPTY_POLICY_SINCE
from towpath.topics.policies import keeps_all
from towpath.topics.releases import too_low
from towpath.topics.rights import on_mirrors, on_sources, undescribed
from towpath.topics.target_kinds import kind_of, remark

_VALUES = 5
"""Values of a config that are tried where the target does not tell which configs it knows."""
_ENOUGH = 50
"""Number of topics whose configs are asked for where any one topic would do."""


def observe(
    source: Admin,
    target: Admin,
    config: LinkConfig,
    ours: OwnedTopics = NOTHING,
    there: Mapping[TopicName, TopicInfo] | None = None,
    known: SourceTopics | None = None,
) -> ObservedTopics:
    """Observe both clusters, without changing them.

    Args:
        source: The cluster to read from.
        target: The cluster to write to.
        config: The link's configuration.
        ours: What earlier steps of this link have made; orphans are looked for among it.
        there: The topics of the target, if they are known already.
        known: The topics of the source, if they are known already.

    Raises:
        ClusterError: A cluster cannot be asked at all.
    """
    seen_there = look_at_source(source, config) if known is None else known
    there = target.topics.describe() if there is None else there
    topics, names = seen_there.topics, seen_there.names
    seen = look_at_target(target, there, topics, names, config.topics, config.target)
    one_cluster = seen_there.cluster if seen_there.cluster == target.cluster.id() else None
    orphans, said = _orphans(source, seen_there.listed, there, config.topics, ours)
    held = {name: keys for name, mirror in seen.target.items() if (keys := _held(mirror, ours))}
    mirrors = {
        names[topic.name]: topic.name for topic in topics if names[topic.name] in seen.target
    }
    missing, unreleased = on_mirrors(target, config.target, mirrors, held)
    others = (info for info in seen_there.listed.values() if not config.topics.takes(info))
    return replace(
        seen,
        one_cluster=one_cluster,
        circular=_circular(names, config.topics) if one_cluster else frozenset(),
        orphans=orphans,
        unmatched=tuple(sorted(info.name for info in others)),
        notes=(*seen_there.notes, *seen.notes, *said, *unreleased),
        problems=(*seen_there.problems, *missing),
    )


def look_at_source(source: Admin, config: LinkConfig) -> SourceTopics:
    """Observe the topics of the source.

    Raises:
        ClusterError: The source cannot be asked at all.
    """
    found = source.topics.describe()
    matched = [info for info in found.values() if config.topics.takes(info)]
    names, refused = config.topics.target_names([info.name for info in matched if not info.error])
    refused |= config.unchangeable(names)
    names = {name: mirror for name, mirror in names.items() if name not in refused}
    configs = source.configs.describe(names)
    topics = [described(found[name], configs[name]) for name in sorted(configs)]
    cleaner = look_at_cleaner(source, Side.SOURCE, (topic.configs for topic in topics))
    return SourceTopics(
        listed=found,
        topics=tuple(with_cleaner(topic, cleaner) for topic in topics),
        names=names,
        cluster=source.cluster.id(),
        notes=tuple(_without_cleaner(cleaner)),
        problems=(
            *(Problem.of(info.error, info.name) for info in matched if info.error),
            *(Problem(name, text, Cause.TOPIC) for name, text in refused.items()),
            *undescribed(config.source, Side.SOURCE, configs.failed),
            *on_sources(source, configs),
        ),
    )


def _circular(names: Mapping[TopicName, TopicName], topics: TopicsConfig) -> frozenset[TopicName]:
    return frozenset(name for name, mirror in names.items() if topics.matches(mirror))


def look_at_target(
    target: Admin,
    everything: Mapping[TopicName, TopicInfo],
    topics: tuple[Topic, ...],
    names: Mapping[TopicName, TopicName],
    rules: TopicsConfig,
    where: ClusterConfig,
    further: Mapping[str, str] = MappingProxyType({}),
) -> ObservedTopics:
    """Observe the mirror topics of some source topics, and the target's defaults.

    Args:
        target: The target.
        everything: All its topics.
        topics: Topics of the source, or of an archive.
        names: The name of each of them on the target.
        rules: What the file says of them.
        where: The target's configuration.
        further: Configs that new topics may get besides.

    Raises:
        ClusterError: The target cannot be asked at all.
    """
    ours = {name_in_metrics(names[topic.name]) for topic in topics}
    found = {name: info for name, info in everything.items() if name_in_metrics(name) in ours}
    hidden = {name: info.error for name, info in found.items() if info.error}
    configs = target.configs.describe(found.keys() - hidden)
    others = sorted(n for n, info in everything.items() if not info.error and n not in found)
    told = configs or target.configs.describe(others[:_ENOUGH])
    fresh = [mirror for topic in topics if (mirror := names[topic.name]) not in everything]
    known = keys(told) or known_for(target, fresh, _asked_for(topics, rules, further))
    given, notes = ask_defaults(target)
    mirrors = {
        name: described(found[name], configs.get(name, {})) for name in found.keys() - hidden
    }
    defaults = {**inherited(told), **given.configs}
    policies = (
        rules.configs.override,
        defaults,
        *(e.configs for e in (*topics, *mirrors.values())),
    )
    cleaner = look_at_cleaner(target, Side.TARGET, policies)
    hosts = [host for host, _ in where.addresses]
    shown = kind_of(target.cluster.id(), known, hosts)
    kind = where.said_kind or shown
    return ObservedTopics(
        source=topics,
        names={topic.name: names[topic.name] for topic in topics},
        target={name: with_cleaner(mirror, cleaner) for name, mirror in mirrors.items()},
        brokers=replicas_possible(target, fresh, _most_replicas(topics, rules)),
        known=known,
        kind=kind,
        defaults={**defaults, **cleaner.stops},
        default_replicas=given.replicas,
        request_bytes=given.request_bytes,
        takes_empty_policy=_takes_empty_policy(target, kind, topics),
        release=str(target.cluster.release),
        least=least_taken(target, fresh, sorted(found), too_low(topics, rules.configs)),
        notes=(
            *notes,
            *(Note("target", said) for said in [remark(shown, where.said_kind, hosts)] if said),
            *(Note(name, str(error)) for name, error in hidden.items()),
            *_without_configs(where, configs.failed),
        ),
    )


def _without_cleaner(cleaner: CleanerSeen) -> Iterator[Note]:
    if cleaner.unknown:
        text = (
            f"{cleaner.unknown}; if none does, the target compacts topics of which the source keeps"
            " all"
        )
        yield Note("source", text)


def with_cleaner(topic: Topic, cleaner: CleanerSeen) -> Topic:
    """Return a topic with the broker configs by which no cleaner runs."""
    return replace(topic, configs={**topic.configs, **cleaner.stops}) if topic.configs else topic


def _takes_empty_policy(target: Admin, kind: TargetKind, topics: Iterable[Topic]) -> bool:
    """Whether the target takes an empty cleanup policy; asked only where a topic has one."""
    if not any(map(keeps_all, topics)):
        return True
    return kind is TargetKind.KAFKA and target.cluster.release.numbers >= EMPTY_POLICY_SINCE


def _without_configs(
    where: ClusterConfig, failed: Mapping[TopicName, ClusterError]
) -> Iterator[Note]:
    for each in undescribed(where, Side.TARGET, failed):
        yield Note(each.about, each.text)


def _most_replicas(topics: Iterable[Topic], rules: TopicsConfig) -> int:
    wish = rules.replication_factor
    if isinstance(wish, Replicas):
        return max((topic.replication_factor for topic in topics), default=1)
    return int(wish)


def _asked_for(
    topics: Iterable[Topic], rules: TopicsConfig, further: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return every config that a mirror topic may get, each with some possible values."""
    asked: dict[str, dict[str, None]] = defaultdict(dict)
    for topic in topics:
        mine = {key: topic.configs[key] for key in DEFAULTS if key in topic.configs}
        for key, value in {**mine, **topic.own}.items():
            asked[key][value] = None
    for key, value in {**rules.configs.override, **further}.items():
        asked[key] = {value: None}
    return {key: list(values)[:_VALUES] for key, values in asked.items()}


def _orphans(
    source: Admin,
    found: Mapping[TopicName, TopicInfo],
    there: Mapping[TopicName, TopicInfo],
    topics: TopicsConfig,
    ours: OwnedTopics,
) -> tuple[tuple[Orphan, ...], list[Note]]:
    """Find mirror topics of this link whose source topics are no longer mirrored.

    The list of all topics omits those that the login may not describe. Asked for by name, the
    source distinguishes them from topics that do not exist.
    """
    mirrored = {info.name for info in found.values() if topics.takes(info)}
    names, _ = topics.target_names(mirrored)
    left = _unclaimed(there, frozenset(names.values()), ours)
    answers, gone = _asked_by_name(source, {name for name in left.values() if name not in found})
    orphans, notes = [], []
    for mirror, name in left.items():
        info = found.get(name) or answers.get(name)
        if name in mirrored:
            stays = f"the mirror topic {mirror} that this link made stays"
            text = f"has another name on the target now; {stays}"
            notes.append(Note(name, text))
        elif info is not None and info.error:
            notes.append(Note(name, f"{info.error}; until then its mirror topic {mirror} stays"))
        elif name in found or name in gone:
            orphans.append(Orphan(name, described(there[mirror], {}), gone=info is None))
    return tuple(orphans), notes


def _unclaimed(
    there: Mapping[TopicName, TopicInfo], claimed: Set[TopicName], ours: OwnedTopics
) -> dict[TopicName, TopicName]:
    """Return the link's mirror topics that no mirrored topic claims, with their source topics."""
    return {
        mirror: name
        for mirror, name in sorted(ours.created.items())
        if mirror in there and mirror not in claimed and not there[mirror].error
    }


def _asked_by_name(
    source: Admin, names: Set[TopicName]
) -> tuple[Mapping[TopicName, TopicInfo], Set[TopicName]]:
    """Ask for topics that are not in the list; return the answers, and those that do not exist."""
    answers = source.topics.describe(names) if names else {}
    unknown = names - answers.keys()
    return answers, source.topics.nowhere(unknown) if unknown else frozenset()


def _held(mirror: Topic, ours: OwnedTopics) -> tuple[str, ...]:
    """Return the configs that are held back from a mirror topic.

    If the login may not see its configs, all that were ever held back count.
    """
    held = (
        ours.waiting(mirror.name, mirror.own) if mirror.configs else ours.held.get(mirror.name, {})
    )
    return tuple(sorted(held))


def described(info: TopicInfo, entries: Mapping[str, ConfigEntry]) -> Topic:
    """Return a topic with its configs."""
    return Topic(
        info.name,
        info.id,
        len(info.partitions),
        max((len(partition.replicas) for partition in info.partitions), default=1),
        non_default(entries),
        {key: entry.value for key, entry in entries.items() if entry.value is not None},
    )
