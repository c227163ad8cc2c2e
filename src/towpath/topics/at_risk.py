"""Mirror topics that keep less than their source topics, as no config is withheld from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry
from towpath.ledger.books import LinkBooks
from towpath.model.at_risk import AtRisk
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicName
from towpath.settings import LinkConfig
from towpath.topics.cleaners import look_at_cleaner
from towpath.topics.configs import compacts
from towpath.topics.held_back_logs import look_at_withheld_logs
from towpath.topics.holds import HeldTopic
from towpath.topics.observed import Topic
from towpath.topics.owned import cut_over
from towpath.topics.retention import differs, foresee


@dataclass(frozen=True, slots=True)
class Risks:
    """Records that the target would delete although the source has them.

    Attributes:
        found: The topics at risk, by name.
        unknown: Topics of which that is not known, and why.
    """

    found: tuple[AtRisk, ...] = ()
    unknown: Mapping[TopicName, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Configs:
    """The configs in effect on topics, and why those of others are not known."""

    known: Mapping[TopicName, dict[str, str]]
    unknown: Mapping[TopicName, str]


def at_risk(config: LinkConfig, source: Admin, target: Admin, books: LinkBooks) -> Risks:
    """Return the copied topics whose mirror topics delete records that the source has.

    Topics that `topics.may_delete` names, and those that were cut over, are not at risk.

    Args:
        config: The link.
        source: The cluster to read from.
        target: The cluster to write to.
        books: What the ledger knows.
    """
    mirrors = dict(_mirrors(config, books))
    try:
        here = _configs(source, Side.SOURCE, mirrors.keys())
        there = _configs(target, Side.TARGET, set(mirrors.values()))
        held = _tighter(config, source, mirrors, here.known, there.known)
        logs = look_at_withheld_logs(source, target, held, books)
    except ClusterError as error:
        return Risks(unknown=dict.fromkeys(mirrors, str(error)))
    unknown = {
        name: why
        for name, mirror in mirrors.items()
        if name not in held and (why := here.unknown.get(name) or there.unknown.get(mirror))
    }
    found = []
    for name, each in sorted(held.items()):
        told = foresee(each.source.configs, each.final, logs[name], config.topics.configs)
        found.append(AtRisk(name, told.reasons, told.ranges))
    return Risks(tuple(found), unknown)


def _mirrors(config: LinkConfig, books: LinkBooks) -> Iterator[tuple[TopicName, TopicName]]:
    over = cut_over(books)
    for tp, each in books.partitions.items():
        name, opened = tp.topic, each.opened
        asked = config.topics.matches(name) and not config.topics.lets_delete(name)
        if opened is not None and asked and name not in over:
            yield name, opened.target_topic


def _tighter(
    config: LinkConfig,
    source: Admin,
    mirrors: Mapping[TopicName, TopicName],
    here: Mapping[TopicName, dict[str, str]],
    there: Mapping[TopicName, dict[str, str]],
) -> dict[TopicName, HeldTopic]:
    """Return the topics whose mirror topics keep less by their configs."""
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


def _configs(admin: Admin, side: Side, names: Collection[TopicName]) -> _Configs:
    """Return the configs in effect on topics, as far as the login may see them."""
    if not names:
        return _Configs({}, {})
    found = admin.configs.describe(names)
    values = {name: _values(entries) for name, entries in found.items()}
    cleaner = look_at_cleaner(admin, side, values.values())
    unknown = {name: str(error) for name, error in found.failed.items()}
    if cleaner.error is not None and side is Side.SOURCE:  # of a target's, the worst is taken
        error = str(cleaner.error)
        unknown |= {name: error for name, each in values.items() if compacts(each)}
    return _Configs({name: {**each, **cleaner.stops} for name, each in values.items()}, unknown)


def _values(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {key: each.value for key, each in entries.items() if each.value is not None}
