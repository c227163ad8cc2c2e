"""Other versions of Spark, as their users install them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from towpath.runtime.home import home_folder

VERSIONS = ("4.0.5", "4.1.4", "4.2.1", "4.3.0")
"""The newest of each minor version that Towpath runs on."""


def fetch_spark(version: str) -> Path:
    """Return a folder with PySpark, jars and all; install it once (400 MB)."""
    folder = home_folder() / "spark" / version
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    uv = Path(sys.executable).parent / "uv"
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        there = Path(scratch) / "packages"
        # Py4J is the same for all of them, and lies in the environment of the tests.
        install = [str(uv), "pip", "install", "-q", "--no-deps", "--python", sys.executable]
        subprocess.run([*install, "--target", str(there), f"pyspark=={version}"], check=True)
        there.replace(folder)
    return folder


def with_spark(packages: Path) -> dict[str, str]:
    """Return the variables of a process that imports the PySpark of this folder."""
    path = filter(None, (str(packages), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(path)}
