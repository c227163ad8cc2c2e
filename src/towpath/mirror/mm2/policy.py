"""MirrorMaker 2's replication policies, which name topics (KIP-382, KAFKA-9726, KIP-949)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicName

HEARTBEATS = TopicName("heartbeats")
_DOT = "."


class PolicyKind(StrEnum):
    """The two replication policies that come with MirrorMaker 2."""

    DEFAULT = "default"
    """Mirror topics get the alias of the source before their name."""
    IDENTITY = "identity"
    """Mirror topics keep their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A replication policy with its settings.

    Attributes:
        kind: Which policy.
        separator: `replication.policy.separator`, between an alias and a name.
        internal_separator: `replication.policy.internal.topic.separator.enabled`: whether the
            names of MirrorMaker 2's own topics have the separator, too, instead of dots.
    """

    kind: PolicyKind = PolicyKind.DEFAULT
    separator: str = _DOT
    internal_separator: bool = True

    def remote_topic(self, alias: str, topic: str) -> TopicName:
        """Return the name of the mirror topic of a topic of the cluster `alias`."""
        if self.kind is PolicyKind.IDENTITY and not topic.endswith(HEARTBEATS):
            return TopicName(topic)
        return TopicName(f"{alias}{self.separator}{topic}")

    def source_alias(self, topic: str) -> str | None:
        """Return the alias in the name of a mirror topic, `None` if there is none.

        By its name alone a topic such as `team.orders`, which is no mirror topic, seems to come
        from a cluster `team`: MirrorMaker 2 cannot tell either.
        """
        if self.kind is PolicyKind.IDENTITY and not topic.endswith(HEARTBEATS):
            return None
        alias, separator, rest = topic.partition(self.separator)
        return alias if separator and rest.replace(self.separator, "") else None

    def original(self, alias: str, topic: str) -> TopicName | None:
        """Return the original name of a mirror topic of cluster `alias`, `None` for others."""
        if self.kind is PolicyKind.IDENTITY and not topic.endswith(HEARTBEATS):
            return TopicName(topic)
        begin = f"{alias}{self.separator}"
        return TopicName(topic.removeprefix(begin)) if topic.startswith(begin) else None

    def checkpoints(self, source_alias: str) -> TopicName:
        """Return the topic with the checkpoints for a cluster's groups."""
        return TopicName(source_alias + self.checkpoints_suffix)

    def offset_syncs(self, alias: str) -> TopicName:
        """Return the topic of the offset syncs; `alias` is the cluster that does not hold it."""
        return TopicName(f"mm2-offset-syncs{self._dot}{alias}{self._internal}")

    @property
    def checkpoints_suffix(self) -> str:
        """The suffix of all topics of checkpoints."""
        return f"{self._dot}checkpoints{self._internal}"

    @property
    def _internal(self) -> str:
        return f"{self._dot}internal"

    @property
    def _dot(self) -> str:
        return self.separator if self.internal_separator else _DOT


def connect_topic(kind: str, source_alias: str) -> TopicName:
    """Return an internal topic of Kafka Connect in MirrorMaker 2's dedicated mode.

    Args:
        kind: `configs`, `offsets` or `status`.
        source_alias: The alias of the source.
    """
    return TopicName(f"mm2-{kind}.{source_alias}.internal")


def only_alias(aliases: Sequence[str], kept: str, none: str) -> str:
    """Return the alias of the only source that left data of MirrorMaker 2.

    Args:
        aliases: Those that were found.
        kept: What was found of each.
        none: What to tell where none was found.

    Raises:
        ConfigError: There is none, or there are several.
    """
    if len(aliases) == 1:
        return aliases[0]
    several = f"is needed, as the target has {kept} of several sources: {', '.join(aliases)}"
    raise ConfigError((ConfigProblem("--source-alias", several if aliases else none),))
