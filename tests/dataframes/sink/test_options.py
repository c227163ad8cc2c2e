"""Options and columns of a write are told all at once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from towpath.dataframes.sink.commits import Decision, TaskPart
from towpath.dataframes.sink.options import SinkOptions, read_sink_options
from towpath.model.errors import ConfigError
from towpath.wire.codec import ZSTD

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

from towpath.cluster.admin.transactions import ProducerEpoch

WHERE = {"kafka.bootstrap.servers": "a:9092"}


def schema(text: str) -> StructType:
    from pyspark.sql.types import StructType

    made = StructType()
    for part in text.split(", "):
        name, kind = part.split(" ", 1)
        made.add(name, kind)
    return made


def read(text: str = "value binary", *, stream: bool = False, **more: Any) -> SinkOptions:
    options = WHERE | {key.replace("_", "."): str(value) for key, value in more.items()}
    return read_sink_options(options, schema(text), stream=stream)


def test_options_have_the_names_of_sparks_sink() -> None:
    found = read(topic="t", kafka_compression_type="zstd", kafka_acks="all", kafka_linger_ms=5)
    assert (found.topic, found.codec, found.exactly_once) == ("t", ZSTD, True)
    named = read("value string, topic string, offset long, timestampType integer")
    assert named.topic is None
    stream = read(topic="t", checkpointLocation="/c", stream=True)
    assert stream.identity.startswith("towpath-sink-")
    assert stream.identity == read(topic="t", checkpointlocation="/c", stream=True).identity
    assert stream.identity != read(topic="t", checkpointLocation="/d", stream=True).identity
    assert read(topic="t", stream=True, exactlyOnce="false").exactly_once is False


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as found:
        read(
            "key integer, valu binary", stream=True, topik="t", kafka_acks=1, kafka_batch_size=3,
            kafka_compression_type="brotli", kafka_enable_idempotence="false",
            kafka_fetch="x", kafka_transaction_timeout_ms="long",
        )  # fmt: skip
    told = str(found.value)
    for text in (
        "topik: is not known; did you mean topic?",
        "column key: is int, must be binary or string",
        "column valu: is not a column of records; known are key, value, headers, topic, partition,"
        " timestamp; select those",
        "column value: is required",
        "topic: is required: as an option, or as a column",
        "kafka.acks: must be all",
        "kafka.batch.size: must be from 1000 to 268435456 bytes, not 3",
        "kafka.compression.type: must be one of none, gzip, snappy, lz4, zstd, not 'brotli'",
        "kafka.enable.idempotence: must be true",
        "kafka.transaction.timeout.ms: must be a whole number, not 'long'",
        "kafka.fetch: is not known here",
        "checkpointLocation: is required as an option of the stream",
    ):
        assert text in told, told


def test_a_decision_of_many_tasks_is_read_again() -> None:
    parts = tuple(TaskPart(n, ProducerEpoch(1 << 33 | n * 7919, n % 9), n) for n in range(1000))
    made = Decision(5, "3fa85f64-5717-4562-b3fc-2c963f66afa6", 17, parts)
    assert Decision.read(5, made.text()) == made


def test_what_a_driver_needs_for_each_micro_batch_loads_no_heavy_library() -> None:
    code = (
        "import sys, towpath.dataframes.sink.writers;"
        "print([name for name in ('numba', 'numpy', 'pyarrow') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert said.stdout.strip() == "[]"
