"""The Spark session."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss2m",
    "spark.driver.memory": "512m",
    "spark.shuffle.compress": "false",
}
"""What we set where the user's spark-defaults.conf or spark-submit says nothing."""

_FAILURES = 4
"""Attempts of a task on `local`; Spark's own default there is one, elsewhere four."""


def session(master: str | None, name: str) -> SparkSession:
    """Start Spark, or take the session that runs.

    Args:
        master: Any Spark master; `None` means all cores of this machine.
        name: Shown in Spark's own pages.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(_retrying(master or "local[*]"))
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def slots(spark: SparkSession) -> int:
    """Return how many tasks can run at the same time, as far as Spark knows now."""
    return max(1, spark.sparkContext.defaultParallelism)


def _retrying(master: str) -> str:
    if not master.startswith("local"):
        return master
    threads = master.removeprefix("local").strip("[]") or "1"
    return master if "," in threads else f"local[{threads},{_FAILURES}]"
