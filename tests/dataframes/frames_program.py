"""What a user's program does with Towpath's source and sink; `test_versions.py` plays it.

`python -m tests.dataframes.frames_program SOURCE TARGET TOPIC FOLDER` copies a topic in a stream of
small micro-batches, plays the last one again, and then writes the records a second time as a batch.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from towpath.dataframes import register


def main() -> None:
    """Do all that it says above."""
    source, target, topic, folder = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    register(spark)
    checkpoint = Path(folder) / "checkpoint"
    _copy(spark, source, target, topic, checkpoint)
    commits = [each for each in (checkpoint / "commits").iterdir() if each.name.isdigit()]
    last = max(commits, key=lambda each: int(each.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    _copy(spark, source, target, topic, checkpoint)
    frame = _options(spark.read, source, topic).load()
    assert frame.where("partition = 0 and offset < 5").count() == 5
    writer = frame.write.format("towpath").mode("append")
    writer.option("kafka.bootstrap.servers", target).save()
    spark.stop()


def _copy(spark: SparkSession, source: str, target: str, topic: str, checkpoint: Path) -> None:
    frame = _options(spark.readStream, source, topic).option("maxOffsetsPerTrigger", "20").load()
    writer = frame.writeStream.format("towpath").option("kafka.bootstrap.servers", target)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.start().awaitTermination()


def _options(reader: Any, source: str, topic: str) -> Any:
    reader = reader.format("towpath").option("kafka.bootstrap.servers", source)
    reader = reader.option("subscribe", topic).option("includeHeaders", "true")
    return reader.option("startingOffsets", "earliest")


if __name__ == "__main__":
    main()
