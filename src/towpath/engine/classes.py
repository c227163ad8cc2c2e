"""The archive of the classes that Spark loads (docs/decisions/0007)."""

from __future__ import annotations

from pathlib import Path

import pyspark

from towpath.model.classes import ClassArchive


def archive() -> ClassArchive:
    """Return the path of the class archive for the installed Spark."""
    jars = Path(pyspark.__file__).parent.glob("jars/spark-core_*.jar")
    return ClassArchive("spark", tuple(jars))


def options() -> str:
    """Return the JVM options that use the archive, or that create it."""
    ours = archive()
    try:
        ours.settle()
        chosen = ours.use() or ours.make()
    except OSError:
        return ""
    return " ".join(f'"{each}"' for each in chosen)
