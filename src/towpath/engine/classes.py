"""The class data archive that speeds up Spark's start (docs/decisions/0007)."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from towpath.runtime.java_classes import ClassArchive

_FOLDERS = "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"
"""Folders that Spark puts on its class path; a JVM that has one there cannot write an archive, and
says so on the terminal when it ends."""


def archive() -> ClassArchive:
    """Return the path of the class archive for the installed Spark."""
    jars = Path(pyspark.__file__).parent.glob("jars/spark-core_*.jar")
    return ClassArchive("spark", tuple(jars))


def options() -> str:
    """Return the JVM options that use the class archive, or that create it."""
    ours = archive()
    try:
        ours.settle()
        chosen = ours.use()
        if not chosen and not any(os.environ.get(name) for name in _FOLDERS):
            chosen = ours.make()
    except OSError:
        return ""
    return " ".join(f'"{each}"' for each in chosen)
