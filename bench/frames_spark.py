"""A PySpark job with Towpath's or Spark's own source and sink; `bench/frames.py` starts it.

`python -m bench.frames_spark WHO SOURCE TARGET FOLDER [JARS]` does one job for each file `N.ask` in
the folder, in order, and answers in `N.done`. A job is `read TOPIC`, `identity TOPIC COPY`, or
`stream TOPIC COPY`, which does the same in micro-batches.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_COLUMNS = {"kafka": "key, value, headers, partition"}
"""What Spark's sink takes; timestamps it does not."""
_MICRO_BATCH = 250_000
"""Offsets of a micro-batch."""


def main() -> None:
    """Do jobs until the parent ends."""
    who, source, target, path, *jars = sys.argv[1:]
    spark = _session(who, jars)
    folder = Path(path)
    number = 0
    while True:
        ask = folder / f"{number}.ask"
        if not ask.exists():
            time.sleep(0.02)
            continue
        what, *topics = ask.read_text().split()
        began = time.monotonic()
        reader = spark.readStream if what == "stream" else spark.read
        frame = _read(reader, who, source, topics[0])
        if what == "read":
            frame.write.format("noop").mode("overwrite").save()
        else:
            frame.createOrReplaceTempView("records")
            columns = _COLUMNS.get(who, "key, value, headers, partition, timestamp")
            changed = spark.sql(f"SELECT {columns} FROM records")  # noqa: S608, of constants
            if what == "stream":
                _stream(changed, who, target, topics[1], folder / f"checkpoint-{number}")
            else:
                _written(changed.write.mode("append"), who, target, topics[1]).save()
        beside = folder / "new"
        beside.write_text(str(time.monotonic() - began))
        beside.replace(folder / f"{number}.done")
        number += 1


def _session(who: str, jars: list[str]) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable  # or workers get the `python3` of the machine
    builder: Any = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g")
    for each in jars:
        builder = builder.config("spark.jars", each)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if who == "towpath":
        from towpath.dataframes import register  # noqa: PLC0415, Spark's own needs none

        register(spark)
    return spark


def _read(made: Any, who: str, source: str, topic: str) -> Any:
    reader = made.format(who).option("kafka.bootstrap.servers", source)
    reader = reader.option("subscribe", topic).option("includeHeaders", "true")
    reader = reader.option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", str(_MICRO_BATCH))
    reader = reader.option("kafka.isolation.level", "read_committed")
    reader = reader.option("kafka.receive.buffer.bytes", str(4 << 20))
    reader = reader.option("kafka.max.partition.fetch.bytes", str(8 << 20))
    return reader.option("kafka.max.poll.records", "5000").load()


def _stream(frame: Any, who: str, target: str, topic: str, checkpoint: Path) -> None:
    """Write what is there in micro-batches, until all of it is written."""
    writer = _written(frame.writeStream, who, target, topic)
    writer = writer.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


def _written(made: Any, who: str, target: str, topic: str) -> Any:
    writer = made.format(who).option("kafka.bootstrap.servers", target)
    writer = writer.option("topic", topic).option("kafka.compression.type", "lz4")
    if who == "kafka":
        writer = writer.option("kafka.batch.size", str(512 << 10)).option("kafka.linger.ms", "100")
        writer = writer.option("kafka.buffer.memory", str(64 << 20))
    return writer


if __name__ == "__main__":
    main()
