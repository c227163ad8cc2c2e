"""An environment like that of `pip install towpath`: no library of an extra can be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.program import environment

EXTRAS = (
    "azure", "botocore", "duckdb", "google.auth", "kazoo", "llvmlite", "numba", "pandas", "py4j",
    "pyarrow", "pyiceberg", "pyspark", "urllib3", "xxhash",
)  # fmt: skip
"""Libraries that the base does not bring."""


def without_extras(folder: Path, besides: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables of an environment in which no program can import what extras bring.

    Args:
        folder: Gets the module that each Python imports first.
        besides: Libraries that are there all the same.
    """
    missing = sorted(set(EXTRAS) - set(besides))
    # Python takes `None` there for a module that is known not to exist, as `find_spec` does.
    code = f"import sys\nsys.modules.update(dict.fromkeys({missing}))\n"
    (folder / "sitecustomize.py").write_text(code)
    env = environment()
    return env | {"PYTHONPATH": os.pathsep.join((str(folder), env["PYTHONPATH"]))}


def towpath(env: Mapping[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `towpath` in such an environment."""
    command = [sys.executable, "-m", "towpath", *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)
