"""Options of the sink, in the words of Spark's own Kafka sink. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from towpath.dataframes.login import KAFKA, cluster_of
from towpath.dataframes.options import flag
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings import ClusterConfig
from towpath.wire.codec import NAMES, NONE

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_OWN = (
    "topic",
    "includeHeaders",
    "exactlyOnce",
    "failOnDataLoss",
    "receipts",
    "checkpointLocation",
)
KNOWN = {each.lower(): each for each in _OWN}
_IGNORED = frozenset({"path", "queryname"})
"""What Spark hands to each sink."""
_PRODUCER = frozenset(
    {"acks", "batch.size", "compression.type", "enable.idempotence", "transactional.id",
     "transaction.timeout.ms"}
)  # fmt: skip
_TUNES = (
    "linger.ms", "buffer.memory", "max.block.ms", "max.in.flight", "max.request.size", "retries",
    "retry.", "delivery.timeout.ms", "key.serializer", "value.serializer",
)  # fmt: skip
"""What sets up the producer of the Java sink; there is none here."""
_BATCH = 900_000
"""Uncompressed bytes of a batch: below the 1,048,588 that a topic takes by default."""
_LEAST_BATCH, _MOST_BATCH = 1_000, 256 << 20
_TIMEOUT = 900.0
"""Seconds: brokers allow no more by default (`transaction.max.timeout.ms`)."""

_BYTES = ("binary", "string")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "key": _BYTES,
    "value": _BYTES,
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
}
_LEFT_OUT = frozenset({"offset", "timestampType"})
"""Columns of the source that mean nothing where records are written."""


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options of a write: the cluster, the topic, transactions and batches.

    Attributes:
        cluster: The brokers, and how to log in.
        topic: The topic of all rows; `None` where the column `topic` names it.
        exactly_once: Whether rows are written in transactions.
        fails: Whether a batch whose records the brokers dropped in part ends the query.
        receipts: The topic that is told which offsets the records got.
        checkpoint: The folder of the query's checkpoint.
        transactional_id: How transactional ids begin.
        timeout: Seconds after which brokers abort a transaction that is open.
        codec: Number of the codec.
        batch_bytes: Uncompressed bytes of a batch, unless a single record is larger.
    """

    cluster: ClusterConfig
    topic: str | None = None
    exactly_once: bool = True
    fails: bool = True
    receipts: str | None = None
    checkpoint: str | None = None
    transactional_id: str | None = None
    timeout: float = _TIMEOUT
    codec: int = NONE
    batch_bytes: int = _BATCH

    @property
    def identity(self) -> str:
        """The transactional id of a stream, which is the same after each restart."""
        if self.transactional_id is not None:
            return self.transactional_id
        name = hashlib.sha256((self.checkpoint or "").encode()).hexdigest()[:16]
        return f"towpath-sink-{name}"


def read_sink_options(
    options: Mapping[str, str], schema: StructType, *, stream: bool
) -> SinkOptions:
    """Read the options of a write, and check its columns.

    Args:
        options: As Spark gives them; the case of their names does not count.
        schema: The columns of the frame.
        stream: Whether it is a stream.

    Raises:
        ConfigError: With every problem.
    """
    reader = _Reader({key.lower(): value for key, value in options.items()})
    return reader.read(schema, stream=stream)


def column_problems(names: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Yield what keeps rows with these columns from being records.

    Args:
        names: The type of each column, in Spark's words.
    """
    for name, kind in names.items():
        wanted = _TYPES.get(name)
        if wanted is None and name not in _LEFT_OUT:
            why = f"is not a column of records; known are {', '.join(_TYPES)}; select those"
            yield ConfigProblem(f"column {name}", why)
        elif wanted is not None and kind not in wanted:
            yield ConfigProblem(f"column {name}", f"is {kind}, must be {' or '.join(wanted)}")
    if "value" not in names:
        yield ConfigProblem("column value", "is required")


class _Reader:
    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._problems: list[ConfigProblem] = []

    def read(self, schema: StructType, *, stream: bool) -> SinkOptions:
        self._unknown()
        names = {each.name: each.dataType.simpleString() for each in schema.fields}
        topic = self._given.get("topic")
        self._columns(names, topic)
        cluster = self._cluster()
        found = {
            "exactly_once": self._get("exactlyOnce", flag, True),
            "fails": self._get("failOnDataLoss", flag, True),
            "codec": self._get(f"{KAFKA}compression.type", _codec, NONE),
            "batch_bytes": self._get(f"{KAFKA}batch.size", _size, _BATCH),
            "timeout": self._get(f"{KAFKA}transaction.timeout.ms", _seconds, _TIMEOUT),
        }
        self._get(f"{KAFKA}acks", _acks, None)
        self._get(f"{KAFKA}enable.idempotence", _idempotence, None)
        names_it = {"checkpointlocation", f"{KAFKA}transactional.id"} & self._given.keys()
        if stream and found["exactly_once"] and not names_it:
            why = (
                "is required as an option of the stream, so that the same batch is known after a"
                f" restart; or give {KAFKA}transactional.id, or exactlyOnce=false"
            )
            self._wrong("checkpointLocation", why)
        if self._problems or cluster is None:
            raise ConfigError(tuple(self._problems))
        return SinkOptions(
            cluster=cluster,
            topic=topic,
            receipts=self._given.get("receipts"),
            checkpoint=self._given.get("checkpointlocation"),
            transactional_id=self._given.get(f"{KAFKA}transactional.id"),
            **found,
        )

    def _wrong(self, path: str, text: str) -> None:
        self._problems.append(ConfigProblem(path, text))

    def _unknown(self) -> None:
        for key in self._given:
            if key in KNOWN or key.startswith(KAFKA) or key in _IGNORED:
                continue
            near = get_close_matches(key, KNOWN, n=1)
            known = ", ".join((*KNOWN.values(), f"{KAFKA}bootstrap.servers and other kafka.*"))
            hint = f"did you mean {KNOWN[near[0]]}?" if near else f"known are {known}"
            self._wrong(key, f"is not known; {hint}")

    def _columns(self, names: Mapping[str, str], topic: str | None) -> None:
        self._problems += column_problems(names)
        if topic is None and "topic" not in names:
            self._wrong("topic", "is required: as an option, or as a column")

    def _cluster(self) -> ClusterConfig | None:
        theirs = {
            key: value
            for key, value in self._given.items()
            if (name := key.removeprefix(KAFKA)) not in _PRODUCER and not name.startswith(_TUNES)
        }
        try:
            return cluster_of(theirs)
        except ConfigError as error:
            self._problems += error.problems
            return None

    def _get(self, name: str, read: Callable[[str], Any], default: Any) -> Any:
        value = self._given.get(name.lower())
        if value is None:
            return default
        try:
            return read(value)
        except ValueError as error:
            self._wrong(name, foreign(error))
            return default


def _codec(text: str) -> int:
    if text.strip().lower() not in NAMES:
        raise ValueError(f"must be one of {', '.join(NAMES)}, not {text!r}")
    return NAMES.index(text.strip().lower())


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"must be a whole number, not {text!r}")
    return int(text)


def _size(text: str) -> int:
    size = _number(text)
    if not _LEAST_BATCH <= size <= _MOST_BATCH:
        raise ValueError(f"must be from {_LEAST_BATCH} to {_MOST_BATCH} bytes, not {size}")
    return size


def _seconds(text: str) -> float:
    return _number(text) / 1000


def _acks(text: str) -> None:
    if text.strip().lower() not in {"all", "-1"}:
        raise ValueError("must be all: a record is written once all in-sync replicas have it")


def _idempotence(text: str) -> None:
    if not flag(text):
        raise ValueError("must be true: else a request that is sent again writes its records twice")
