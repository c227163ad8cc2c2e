"""Mirror topics that keep less than their source topics, as no config is withheld from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry
from towpath.ledger.books import LinkBooks
from towpath.model.at_risk import AtRisk
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicName
from towpath.settings import LinkConfig
from towpath.topics.cleaners import look_at_cleaner
from towpath.topics.held_back_logs import look_at_withheld_logs
from towpath.topics.holds import HeldTopic
from towpath.topics.observed import Topic
from towpath.topics.owned import cut_over
from towpath.topics.retention import differs, foresee


def at_risk(
    config: LinkConfig, source: Admin, target: Admin, books: LinkBooks
) -> tuple[AtRisk, ...]:
    """Return the copied topics whose mirror topics delete records that the source has.

    Topics that `topics.may_delete` names, and those that were cut over, are not at risk. Of topics
    whose configs the login may not see, it is not known.

    Args:
        config: The link.
        source: The cluster to read from.
        target: The cluster to write to.
        books: What the ledger knows.
    """
    mirrors = dict(_mirrors(config, books))
    try:
        held = _tighter(config, source, target, mirrors)
        logs = look_at_withheld_logs(source, target, held, books)
    except ClusterError:  # the state of the partitions tells that a cluster does not answer
        return ()
    found = []
    for name, each in sorted(held.items()):
        told = foresee(each.source.configs, each.final, logs[name], config.topics.configs)
        found.append(AtRisk(name, told.reasons, told.ranges))
    return tuple(found)


def _mirrors(config: LinkConfig, books: LinkBooks) -> Iterator[tuple[TopicName, TopicName]]:
    over = cut_over(books)
    for tp, each in books.partitions.items():
        name, opened = tp.topic, each.opened
        asked = config.topics.matches(name) and not config.topics.lets_delete(name)
        if opened is not None and asked and name not in over:
            yield name, opened.target_topic


def _tighter(
    config: LinkConfig, source: Admin, target: Admin, mirrors: Mapping[TopicName, TopicName]
) -> dict[TopicName, HeldTopic]:
    """Return the topics whose mirror topics keep less by their configs."""
    here = _configs(source, Side.SOURCE, mirrors.keys())
    there = _configs(target, Side.TARGET, set(mirrors.values()))
    rules = config.topics.configs
    names = [
        name
        for name, mirror in mirrors.items()
        if name in here and mirror in there and any(differs(here[name], there[mirror], rules))
    ]
    infos = source.topics.describe(names) if names else {}
    return {
        name: HeldTopic(
            Topic(name, info.id, len(info.partitions), 1, configs=here[name]),
            mirrors[name],
            exists=True,
            final=there[mirrors[name]],
        )
        for name in names
        if (info := infos.get(name)) is not None and not info.error
    }


def _configs(
    admin: Admin, side: Side, names: Collection[TopicName]
) -> dict[TopicName, dict[str, str]]:
    """Return the configs in effect on topics, of those whose configs the login may see."""
    found = admin.configs.describe(names) if names else {}
    values = {name: _values(entries) for name, entries in found.items()}
    stops = look_at_cleaner(admin, side, values.values()).stops
    return {name: {**each, **stops} for name, each in values.items()}


def _values(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {key: each.value for key, each in entries.items() if each.value is not None}
