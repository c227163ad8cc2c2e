"""A stream that somebody kills; `sink/test_killed.py` plays it.

`python -m tests.dataframes.stream_program SOURCE TARGET TOPIC FOLDER WAY` copies a topic in small
micro-batches. It goes on for ever where WAY is `forever`, and ends at the present end with `once`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from towpath.dataframes import register

EACH = 40
"""Offsets of a micro-batch."""


def main() -> None:
    """Copy, as it says above."""
    source, target, topic, folder, way = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    register(spark)
    reader = spark.readStream.format("towpath").option("kafka.bootstrap.servers", source)
    reader = reader.option("subscribe", topic).option("includeHeaders", "true")
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", EACH)
    writer = reader.load().writeStream.format("towpath").option("kafka.bootstrap.servers", target)
    writer = writer.option("checkpointLocation", str(Path(folder) / "checkpoint"))
    writer = writer.trigger(availableNow=True) if way == "once" else writer
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
