"""What the login lacks on topics, told by topic of the source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.config import ClusterConfig
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicName

_ON_SOURCE = (Right.READ,)
_ON_COPY = (Right.READ, Right.WRITE, Right.DELETE)
"""Delete is for DeleteRecords, which lets a log start later."""
_TO_RELEASE = Right.ALTER_CONFIGS


def on_sources(source: Admin, names: Iterable[TopicName]) -> Iterator[Problem]:
    """Tell which rights the login lacks on topics of the source.

    Raises:
        ClusterError: The source cannot be asked.
    """
    for name, missing in source.topics.lacking(dict.fromkeys(names, _ON_SOURCE)).items():
        yield Problem(name, lacks(Side.SOURCE, name, missing), Cause.RIGHTS)


def on_copies(
    target: Admin,
    cluster: ClusterConfig,
    copies: Mapping[TopicName, TopicName],
    held: Mapping[TopicName, Collection[str]],
) -> tuple[list[Problem], list[Note]]:
    """Tell which rights the login lacks on mirror topics, now and later.

    Args:
        target: The cluster that has them.
        cluster: What the file says of it.
        copies: Those that are there, each with its topic of the source.
        held: The configs of some of them that are held back.

    Raises:
        ClusterError: The target cannot be asked.
    """
    problems, notes = [], []
    needed = {name: (*_ON_COPY, *([_TO_RELEASE] if name in held else ())) for name in copies}
    for name, missing in target.topics.lacking(needed).items():
        now = [right for right in missing if right is not _TO_RELEASE]
        if now:
            problems.append(Problem(copies[name], lacks(Side.TARGET, name, now), Cause.RIGHTS))
        if len(now) < len(missing):
            text = (
                f"{Side.TARGET}: {_who(cluster)} lacks the ACL {_TO_RELEASE.kafka_name} on topic"
                f" {name}, so what is held back there while the mirror topic is filled cannot be"
                f" released: {', '.join(held[name])}; add it there"
            )
            notes.append(Note(copies[name], text))
    return problems, notes


def undescribed(
    cluster: ClusterConfig, side: Side, failed: Mapping[TopicName, ClusterError]
) -> Iterator[Problem]:
    """Tell of which topics the configs are hidden, and from whom."""
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
