"""Discovery of partition logs in a broker's folder, or in a bucket with the same files.

    broker-log      topic-partition/<base offset>.log, beside Kafka's checkpoints
    tiered-storage  [bits/]cluster/topic-partition/<base offset>.log

The first is what a broker has in `log.dirs`: its own replicas, with the offsets up to which all
replicas have them, and from which records were not deleted. The second is what pinterest's
tiered-storage uploads: segments that were closed by their leader.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from towpath.archive.format.broker_log import BrokerLog, BrokerLogFile
from towpath.archive.model import PartitionId
from towpath.model.errors import ConfigError, ConfigProblem, ObjectMissingError
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicPartition
from towpath.settings import StoreLayout
from towpath.store import Store

_HIGH_WATERMARKS, _LOG_STARTS = "replication-offset-checkpoint", "log-start-offset-checkpoint"
_META, _PARTITION = "meta.properties", "partition.metadata"
_CLUSTER = re.compile(r"^cluster\.id=(\S+)", re.MULTILINE)
_TOPIC_ID = re.compile(r"^topic_id: (\S+)", re.MULTILINE)
_LINE = re.compile(r"^(\S+) (\d+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLog:
    """The log files of one partition.

    Attributes:
        id: Its identity.
        partition: Its name.
        files: Its files.
        log_start: The offset before which records were deleted, 0 if that is not known.
        high_watermark: The offset up to which all replicas have it, None if that is not known.
    """

    id: PartitionId
    partition: TopicPartition
    files: tuple[BrokerLogFile, ...]
    log_start: SourceOffset = SourceOffset(0)
    high_watermark: SourceOffset | None = None

    def open(self, store: Store) -> BrokerLog:
        """Return a reader of the log."""
        return BrokerLog(self.files, store.reader, self.high_watermark)


def find_logs(store: Store, region: str) -> dict[PartitionId, ForeignLog]:
    """Find the partition logs in a store.

    Args:
        store: The store; its layout says what is in it.
        region: The cluster, of whose several logs are in a bucket of tiered-storage.

    Raises:
        ConfigError: There is no log, or the bucket has several clusters and none is named.
        StoreError: The store could not be read.
    """
    found: defaultdict[tuple[str, TopicPartition], list[BrokerLogFile]] = defaultdict(list)
    for each in store.list():
        file = BrokerLogFile.of(each.key)
        if file is not None:
            found[_above(file), file.partition].append(file)
    clusters = sorted({cluster for cluster, _ in found})
    if not clusters:
        _refuse(f"{store.config.url} has no file such as topic-0/{0:020d}.log")
    if store.config.layout is StoreLayout.BROKER_LOG:
        return dict(_of_broker(store, found))
    if len(clusters) > 1 and region not in clusters:
        _refuse(
            f"{store.config.url} has the clusters {', '.join(clusters)}; name one as"
            " `restore.region`"
        )
    cluster = region if region in clusters else clusters[0]
    return {
        log.id: log
        for (name, tp), files in found.items()
        if name == cluster
        for log in [
            ForeignLog(
                id=PartitionId(ClusterId(cluster), TopicId(f"name:{tp.topic}"), tp.partition),
                partition=tp,
                files=tuple(sorted(files)),
            )
        ]
    }


def _above(file: BrokerLogFile) -> str:
    """Return the name of the folder above that of the partition, "" if there is none."""
    parts = file.name.split("/")
    return parts[-3] if len(parts) > 2 else ""


def _of_broker(
    store: Store, found: Mapping[tuple[str, TopicPartition], list[BrokerLogFile]]
) -> Iterator[tuple[PartitionId, ForeignLog]]:
    high, starts = (_offsets(_text(store, name)) for name in (_HIGH_WATERMARKS, _LOG_STARTS))
    meta = _CLUSTER.search(_text(store, _META))
    cluster = ClusterId(meta[1] if meta else "broker-log")
    for (above, tp), files in found.items():
        if above:
            _refuse(
                f"{files[0].name} is a folder too deep: store.url must name the folder of"
                " `log.dirs` itself"
            )
        known = _TOPIC_ID.search(_text(store, f"{tp.topic}-{tp.partition}/{_PARTITION}"))
        topic_id = TopicId(known[1] if known else f"name:{tp.topic}")
        log = ForeignLog(
            id=PartitionId(cluster, topic_id, tp.partition),
            partition=tp,
            files=tuple(sorted(files)),
            log_start=starts.get((tp.topic, tp.partition), SourceOffset(0)),
            high_watermark=high.get((tp.topic, tp.partition)),
        )
        yield log.id, log


def _offsets(text: str) -> dict[tuple[str, int], SourceOffset]:
    """Return the offsets of a checkpoint: lines of topic, partition and offset behind a head."""
    return {
        (topic, int(partition)): SourceOffset(int(offset))
        for topic, partition, offset in _LINE.findall(text)
    }


def _text(store: Store, key: str) -> str:
    with suppress(ObjectMissingError):
        return store.get(key).decode(errors="replace")
    return ""


def _refuse(text: str) -> None:
    raise ConfigError((ConfigProblem("store", text),))
