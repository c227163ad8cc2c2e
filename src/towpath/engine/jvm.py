"""The start of Spark's JVM by the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway


def launch(conf: SparkConf, folder: Path | None = None) -> None:
    """Start the JVM in its own process group, unless it is running.

    Whoever ends a command by signalling its whole group, such as `timeout` or a terminal that
    closes, would otherwise end the JVM before the driver has drained. The JVM ends with the driver
    all the same, also with one that is killed: it reads its standard input to the end.

    Args:
        conf: What the JVM must know when it starts.
        folder: The folder in which it works, that of the driver by default.
    """
    if SparkContext._gateway is None:  # noqa: SLF001  # PySpark shows it nowhere else
        started: dict[str, Any] = {"process_group": 0, "cwd": folder}
        gateway = launch_gateway(conf, started)  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)  # noqa: SLF001  # no other way
