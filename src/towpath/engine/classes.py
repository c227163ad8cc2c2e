"""An archive of the classes that Spark loads, which halves the time its JVM needs to start.

The JVM writes the archive when it ends (dynamic class data sharing, JEP 350), so the second run is
the first that gains. An archive of another Java or another class path is passed over by the JVM.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pyspark

from towpath.model.clock import now_ms
from towpath.model.home import home_folder

_SETTLED = 60.0
"""Seconds after which a JVM has certainly finished writing."""
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def options() -> str:
    """Return the JVM options that use the archive, or that make one."""
    archive = _archive()
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _promote(archive, _SETTLED)
    except OSError:
        return ""
    if archive.exists():
        return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'
    return f'"-XX:ArchiveClassesAtExit={archive}.{os.getpid()}" {_QUIET}'


def present() -> bool:
    """Whether there is an archive for this Java and this Spark."""
    return _archive().exists()


def settle() -> None:
    """Take the archive of a JVM that has ended into use at once."""
    _promote(_archive(), 0.0)


def _archive() -> Path:
    return home_folder() / "classes" / f"spark-{_key()}.jsa"


def _key() -> str:
    """Name this Java and this Spark."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    real = java.resolve()
    # The JVM passes over an archive whose jars were written anew, even when they are the same.
    jars = sorted(Path(pyspark.__file__).parent.glob("jars/spark-core_*.jar"))
    written = [file.stat().st_mtime_ns for file in (real, *jars) if file.exists()]
    text = f"{real} {jars} {written} {pyspark.__version__}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _promote(archive: Path, age: float) -> None:
    """Give a finished archive its name; drop those that another run finished first."""
    now = now_ms()
    for made in archive.parent.glob(f"{archive.name}.*"):
        if now - int(made.stat().st_mtime * 1000) >= age * 1000:
            made.replace(archive)
