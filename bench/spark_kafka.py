"""Spark's own Kafka source to Parquet, in a query that goes on; `bench/archivers.py` starts it.

`python -m bench.spark_kafka BOOTSTRAP PATTERN FOLDER JARS` tells in `progress.json` in the folder
how many records of each topic are written.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    """Write until stopped."""
    bootstrap, pattern, path, jars = sys.argv[1:]
    folder = Path(path)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.parquet.compression.codec", "zstd")
        .config("spark.hadoop.parquet.compression.codec.zstd.level", "1")
        .config("spark.sql.streaming.metricsEnabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribePattern", pattern)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", "read_committed")
        .option("kafka.metadata.max.age.ms", "500")
        .option("kafka.receive.buffer.bytes", str(4 << 20))
        .option("kafka.max.partition.fetch.bytes", str(8 << 20))
        .option("kafka.max.poll.records", "5000")
        .load()
    )
    query = (
        records.writeStream.format("parquet")
        .option("path", str(folder / "parquet"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="300 milliseconds")
        .start()
    )
    while query.isActive:
        _tell(query, folder)
        time.sleep(0.1)
    query.awaitTermination()


def _tell(query: Any, folder: Path) -> None:
    """Write up to where the last batch has read each topic."""
    last = query.lastProgress
    if last is None or not last["sources"]:
        return
    ends = last["sources"][0]["endOffset"]
    ends = json.loads(ends) if isinstance(ends, str) else ends
    told = {topic: sum(int(end) for end in each.values()) for topic, each in (ends or {}).items()}
    beside = folder / "progress.new"
    beside.write_text(json.dumps(told))
    beside.replace(folder / "progress.json")


if __name__ == "__main__":
    main()
