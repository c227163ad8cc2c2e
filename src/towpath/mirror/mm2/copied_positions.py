"""The source positions of MirrorMaker 2, from Kafka Connect's stored offsets.

A key is a JSON list: the connector, and `{"cluster": alias, "partition": number, "topic": name}`. A
value is `{"offset": number}`, the offset of the last record that was copied, or null where the
position was reset (KIP-875). Keys of its checkpoint connector have a group instead of a cluster.
"""

from __future__ import annotations

import json
from typing import Any

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.mirror.mm2.policy import connect_topic, only_alias
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition

_BEFORE, _BEHIND = connect_topic("offsets", "\0").split("\0")


class CopiedPositions:
    """The last record that MirrorMaker 2 copied of each source partition. Pure.

    Args:
        alias: Its alias of the source.

    Attributes:
        offsets: The source offset of that record, by source partition.
    """

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self.offsets: dict[TopicPartition, SourceOffset] = {}

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Add a record of the topic; the last one for each partition counts."""
        about = _json(key)
        match about:
            case [str(), {"cluster": self._alias, "topic": str(topic), "partition": int(number)}]:
                tp = TopicPartition(TopicName(topic), number)
            case _:
                return
        match _json(value):
            case {"offset": int(offset)} if offset >= 0:
                self.offsets[tp] = SourceOffset(offset)
            case _:
                self.offsets.pop(tp, None)


def _json(raw: bytes | None) -> Any:
    try:
        return json.loads(raw or b"null")
    except (ValueError, RecursionError):  # another program's record
        return None


def read_positions(
    admin: Admin, client: Client, topic: TopicName, alias: str
) -> dict[TopicPartition, SourceOffset]:
    """Return the offset of the last record that MirrorMaker 2 copied of each source partition.

    Raises:
        ClusterError: The topic cannot be read.
        ConfigError: There is no such topic.
    """
    info = admin.topics.find(topic)
    if info is None:
        text = f"the target has no topic {topic}; name the one where Kafka Connect keeps offsets"
        raise ConfigError((ConfigProblem("--offsets-topic", text),))
    found = CopiedPositions(alias)
    for partition in info.partitions:
        tp = TopicPartition(topic, partition.partition)
        for record in CommittedReader(admin, client, tp).read():
            found.take(record.key, record.value)
    return found.offsets


def find_source(admin: Admin) -> str:
    """Return the alias of the only source with a topic of positions on the target.

    Raises:
        ClusterError: The target cannot be asked.
        ConfigError: There is none, or there are several.
    """
    names = [name for name in admin.topics.describe() if name.startswith(_BEFORE)]
    aliases = sorted(
        name.removeprefix(_BEFORE).removesuffix(_BEHIND) for name in names if name.endswith(_BEHIND)
    )
    none = (
        f"is needed, as the target has no topic such as {_BEFORE}us{_BEHIND}; where MirrorMaker 2"
        " runs in a Kafka Connect cluster, name --offsets-topic as well"
    )
    return only_alias(aliases, "offsets", none)
