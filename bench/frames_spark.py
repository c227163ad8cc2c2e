"""A PySpark job with Towpath's or Spark's own source and sink; `bench/frames.py` starts it.

`python -m bench.frames_spark WHO SOURCE TARGET FOLDER [JARS]` does one job for each file `N.ask` in
the folder, in order, and answers in `N.done`. A job is `read TOPIC` or `identity TOPIC COPY`.
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
        frame = _read(spark, who, source, topics[0])
        if what == "read":
            frame.write.format("noop").mode("overwrite").save()
        else:
            frame.createOrReplaceTempView("records")
            columns = _COLUMNS.get(who, "key, value, headers, partition, timestamp")
            changed = spark.sql(f"SELECT {columns} FROM records")  # noqa: S608, of constants
            _write(changed, who, target, topics[1])
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


def _read(spark: SparkSession, who: str, source: str, topic: str) -> Any:
    reader = spark.read.format(who).option("kafka.bootstrap.servers", source)
    reader = reader.option("subscribe", topic).option("includeHeaders", "true")
    reader = reader.option("kafka.isolation.level", "read_committed")
    reader = reader.option("kafka.receive.buffer.bytes", str(4 << 20))
    reader = reader.option("kafka.max.partition.fetch.bytes", str(8 << 20))
    return reader.option("kafka.max.poll.records", "5000").load()


def _write(frame: Any, who: str, target: str, topic: str) -> None:
    writer = frame.write.format(who).mode("append").option("kafka.bootstrap.servers", target)
    writer = writer.option("topic", topic).option("kafka.compression.type", "lz4")
    if who == "kafka":
        writer = writer.option("kafka.batch.size", str(512 << 10)).option("kafka.linger.ms", "100")
        writer = writer.option("kafka.buffer.memory", str(64 << 20))
    writer.save()


if __name__ == "__main__":
    main()
