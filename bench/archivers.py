"""Those who write a topic to Parquet: processes that go on until they are stopped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from tests.support.objects.buckets import Buckets

from bench.arena import Arena
from bench.copiers import of_clone
from bench.watched import WatchedProcess
from towpath.archive.config import load_archive
from towpath.archive.errors import NoArchiveError
from towpath.archive.log import CommitLog
from towpath.dev import distribution, ports
from towpath.dev.broker_configs import properties_text
from towpath.dev.process import LOG4J2
from towpath.engine import java
from towpath.settings import StoreConfig
from towpath.store import Store

SPARK_KAFKA = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0")
"""The newest version of Spark's connector that Maven Central has; there is none for Spark 4.3."""
ICEBERG = tuple(
    ("org.apache.iceberg", name, "1.12.0") for name in ("iceberg-kafka-connect", "iceberg-parquet")
)
"""The sink, which does not ask for what writes its files by itself."""
HEAP = "2g"


@dataclass(frozen=True, slots=True)
class Task:
    """What is archived.

    Attributes:
        arena: Its source has the topics.
        topics: Their names. A topic that is hidden is archived as soon as it shows.
        partitions: Of each of them.
    """

    arena: Arena
    topics: tuple[str, ...]
    partitions: int

    @property
    def bootstrap(self) -> str:
        """The address of the source."""
        return self.arena.source.bootstrap


def kafka_jars() -> list[str]:
    """Return the jars of Spark's own Kafka source and sink that Spark does not bring."""
    jars = distribution.fetch_for_benchmarks("spark-kafka", (SPARK_KAFKA,))
    own = {each.name for each in _spark_jars().glob("*.jar")}
    return [
        str(each)
        for each in jars.glob("*.jar")
        if each.name not in own and not each.name.startswith(_IN_SPARK)
    ]


class Archiver(WatchedProcess):
    """A process that archives while it is entered.

    Args:
        task: What it archives.
        home: Where its files go.
        name: Its name in the results.
    """

    about = ""

    def __init__(self, task: Task, home: Path, name: str) -> None:
        super().__init__(home / name, "out")
        self.name, self._task = name, task

    @property
    def store_pids(self) -> Sequence[int]:
        """The processes of its store."""
        return ()

    @property
    def trouble(self) -> str:
        """The end of its log once it has ended, "" while it runs."""
        return "" if self.running else f"{self.name} ended:\n{self.log_end}"

    def archived(self, topic: str) -> int:
        """Return how many records of a topic others can read."""
        raise NotImplementedError

    def size(self) -> int:
        """Return the bytes of all objects."""
        raise NotImplementedError


class Towpath(Archiver):
    """`towpath archive run` in two slots of this machine.

    Args:
        task: What it archives.
        home: Where its files go.
        name: Its name in the results.
        kind: The format of its objects.
        buckets: The S3 store that they go to; a folder without one.
    """

    def __init__(
        self, task: Task, home: Path, name: str, kind: str, buckets: Buckets | None = None
    ) -> None:
        super().__init__(task, home, name)
        self._kind, self._buckets = kind, buckets
        self._log: CommitLog | None = None

    @property
    def store_pids(self) -> Sequence[int]:
        """The process of the S3 store."""
        return () if self._buckets is None else (self._buckets.pid,)

    def archived(self, topic: str) -> int:
        """Return how many offsets of a topic are in the commit log; all of them have records."""
        if self._log is None:
            store = Store(load_archive(self._folder / "archive.yaml").store)
            try:
                self._log = CommitLog.open(store, "bench")
            except NoArchiveError:
                return 0
        self._log.follow()
        known = self._log.state.partitions.values()
        return sum(each.archived_to for each in known if each.topic == topic)

    def size(self) -> int:
        """Return the bytes of all segments."""
        assert self._log is not None  # noqa: S101 - told to the type checker only
        segments = self._log.state.table().rows
        return int(sum(size or 0 for size in segments["size"].to_pylist()))

    def _command(self) -> Sequence[str]:
        file = self._folder / "archive.yaml"
        told = {
            "kind": "archive",
            "archive": "bench",
            "source": {"bootstrap": self._task.bootstrap},
            "store": self._store(),
            "region": "bench",
            "topics": {"include": list(self._task.topics)},
            "format": self._kind,
            # Whole segments do not wait; what is left at the end of a partition does.
            "segments": {"max_age": "1s"},
            "run": {"discover": "300ms"},
        }
        file.write_text(json.dumps(told))
        file.chmod(0o600)
        words = ("archive", "run", str(file), "--parallelism", "2")
        return [sys.executable, "-m", "towpath", *words]

    def _store(self) -> dict[str, Any]:
        if self._buckets is None:
            return {"url": (self._folder / "store").as_uri()}
        made: StoreConfig = self._buckets.new()
        assert made.keys is not None  # noqa: S101 - told to the type checker only
        secret = self._folder / "secret"
        secret.write_text(made.keys.secret_access_key.reveal())
        name = made.keys.access_key_id
        keys = {"access_key_id": name, "secret_access_key": f"file:{secret}"}
        return {"url": made.url, "endpoint": made.endpoint, "region": made.region, "keys": keys}


class Before(Towpath):
    """`towpath archive run` of another clone of this repository, which stands at an earlier commit.

    Args:
        task: What it archives.
        home: Where its files go.
        name: Its name in the results.
        kind: The format of its objects.
        clone: Where it is.
    """

    def __init__(self, task: Task, home: Path, name: str, kind: str, clone: Path) -> None:
        super().__init__(task, home, name, kind)
        self._clone = clone

    def _command(self) -> Sequence[str]:
        return [*of_clone(self._clone), *super()._command()]


class SparkParquet(Archiver):
    """Spark's own Kafka source and Parquet writer, a query that goes on."""

    def archived(self, topic: str) -> int:
        """Return how many records Spark says that it has written."""
        file = self._folder / "progress.json"
        if not file.exists():
            return 0
        found: dict[str, int] = json.loads(file.read_text())
        return found.get(topic, 0)

    def size(self) -> int:
        """Return the bytes of all files."""
        return _size((self._folder / "parquet").rglob("*.parquet"))

    def _command(self) -> Sequence[str]:
        return [sys.executable, "-m", "bench.spark_kafka", self._task.bootstrap,
                "|".join(self._task.topics), str(self._folder), ",".join(kafka_jars())]  # fmt: skip


class IcebergSink(Archiver):
    """The Kafka Connect sink of Iceberg, alone in a worker, with a table in a folder."""

    def archived(self, topic: str) -> int:
        """Return how many records the newest snapshot has, of all topics that are not `topic`'s."""
        folder = self._folder / "warehouse" / "db" / "archive" / "metadata"
        hint = folder / "version-hint.text"
        if not hint.exists():
            return 0
        told = json.loads((folder / f"v{hint.read_text().strip()}.metadata.json").read_text())
        newest = max(told["snapshots"], key=lambda each: each["sequence-number"], default=None)
        total = 0 if newest is None else int(newest["summary"].get("total-records", 0))
        # The warm topic comes first, and its records stay in the table.
        return total - self._before if topic == self._task.topics[-1] else total

    _before = 0

    def settle(self, records: int) -> None:
        """Note how many records the table has before the topic that counts."""
        self._before = records

    def size(self) -> int:
        """Return the bytes of all data files."""
        return _size((self._folder / "warehouse").rglob("*.parquet"))

    def _command(self) -> Sequence[str]:
        kafka = distribution.fetch_mirror_maker()
        iceberg = distribution.fetch_for_benchmarks("iceberg-sink", ICEBERG)
        hadoop = [str(each) for each in sorted(_spark_jars().glob("hadoop-client-*.jar"))]
        (self._folder / "log4j2.properties").write_text(LOG4J2)
        (self._folder / "worker.properties").write_text(properties_text(self._worker()))
        (self._folder / "sink.properties").write_text(properties_text(self._sink()))
        # Kafka's jars come first: those of the sink have a newer logging facade without a back end.
        path = ":".join([f"{kafka}/*", f"{iceberg}/*", *hadoop])
        return [
            str(java.find()), "-server", "-XX:+UseG1GC", f"-Xms{HEAP}", f"-Xmx{HEAP}",
            f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}",
            *("-cp", path, "org.apache.kafka.connect.cli.ConnectStandalone"),
            *(str(self._folder / name) for name in ("worker.properties", "sink.properties")),
        ]  # fmt: skip

    def _worker(self) -> dict[str, str]:
        (port,) = ports.reserve(1)
        raw = "org.apache.kafka.connect.converters.ByteArrayConverter"
        return {
            "bootstrap.servers": self._task.bootstrap,
            "key.converter": raw,
            "value.converter": raw,
            "offset.storage.file.filename": str(self._folder / "offsets"),
            "listeners": f"http://127.0.0.1:{port}",
            "plugin.discovery": "only_scan",
            # A task that gets no records looks at the commits that are asked of it this often only.
            "offset.flush.interval.ms": "500",
            "consumer.max.poll.records": "5000",
            "consumer.fetch.max.bytes": str(50 << 20),
            "consumer.max.partition.fetch.bytes": str(8 << 20),
            "consumer.receive.buffer.bytes": str(4 << 20),
            "consumer.metadata.max.age.ms": "500",
            "consumer.auto.offset.reset": "earliest",
            "consumer.isolation.level": "read_committed",
        }

    def _sink(self) -> dict[str, str]:
        return {
            "name": "iceberg",
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "tasks.max": "2",
            "topics.regex": "|".join(self._task.topics),
            "iceberg.tables": "db.archive",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.tables.auto-create-props.write.parquet.compression-level": "1",
            "iceberg.catalog.type": "hadoop",
            "iceberg.catalog.warehouse": (self._folder / "warehouse").as_uri(),
            "iceberg.control.topic": "control-iceberg",
            "iceberg.control.commit.interval-ms": "5000",
            # The table gets value, offset, partition, and time; the sink takes no key of raw bytes.
            "transforms": "hoist,about",
            "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
            "transforms.hoist.field": "value",
            "transforms.about.type": "org.apache.kafka.connect.transforms.InsertField$Value",
            "transforms.about.offset.field": "offset",
            "transforms.about.partition.field": "partition",
            "transforms.about.timestamp.field": "timestamp",
        }


_IN_SPARK = ("scala-", "hadoop-", "slf4j-", "snappy-", "lz4-", "jsr305", "spark-tags")


def _spark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def _size(files: Iterable[Path]) -> int:
    return sum(each.stat().st_size for each in files)
