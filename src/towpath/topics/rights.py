"""Rights on topics that the login lacks, reported by source topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicName
from towpath.settings import ClusterConfig

_ON_SOURCE = (Right.READ,)
_ON_MIRROR = (Right.READ, Right.WRITE, Right.DELETE)
"""Delete is needed for DeleteRecords, which advances the log start offset."""
_TO_RELEASE = Right.ALTER_CONFIGS


def on_sources(source: Admin, names: Iterable[TopicName]) -> Iterator[Problem]:
    """Yield the rights that the login lacks on source topics.

    Raises:
        ClusterError: The source cannot be asked.
    """
    for name, missing in source.topics.lacking(dict.fromkeys(names, _ON_SOURCE)).items():
        yield Problem(name, lacks(Side.SOURCE, name, missing), Cause.RIGHTS)


def on_mirrors(
    target: Admin,
    cluster: ClusterConfig,
    mirrors: Mapping[TopicName, TopicName],
    held: Mapping[TopicName, Collection[str]],
) -> tuple[list[Problem], list[Note]]:
    """Return the rights that the login lacks on mirror topics: now (problems), later (notes).

    Args:
        target: The target.
        cluster: The target's configuration.
        mirrors: The mirror topics that exist, each with its source topic.
        held: The configs that are held back, by mirror topic.

    Raises:
        ClusterError: The target cannot be asked.
    """
    problems, notes = [], []
    needed = {name: (*_ON_MIRROR, *([_TO_RELEASE] if name in held else ())) for name in mirrors}
    for name, missing in target.topics.lacking(needed).items():
        now = [right for right in missing if right is not _TO_RELEASE]
        if now:
            problems.append(Problem(mirrors[name], lacks(Side.TARGET, name, now), Cause.RIGHTS))
        if len(now) < len(missing):
            text = (
                f"{Side.TARGET}: {_who(cluster)} lacks the ACL {_TO_RELEASE.kafka_name} on topic"
                f" {name}, so configs that are held back while the mirror topic is filled cannot be"
                f" released: {', '.join(held[name])}; add it there"
            )
            notes.append(Note(mirrors[name], text))
    return problems, notes


def undescribed(
    cluster: ClusterConfig, side: Side, failed: Mapping[TopicName, ClusterError]
) -> Iterator[Problem]:
    """Yield problems for topics whose configs the login may not read."""
    for name, error in failed.items():
        told = Problem.of(error, name)
        if told.cause is Cause.RIGHTS:
            text = (
                f"{side}: {_who(cluster)} lacks the ACL DescribeConfigs on this topic, so its"
                " configs are not known; add it there"
            )
            told = replace(told, text=text)
        yield told


def _who(cluster: ClusterConfig) -> str:
    return f"the login {cluster.login}" if cluster.login else "the login"
