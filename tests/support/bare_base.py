"""An environment like that of `pip install towpath`: no library of an extra can be imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.program import environment

EXTRAS = (
    "azure", "botocore", "duckdb", "google.auth", "kazoo", "llvmlite", "numba", "pandas", "py4j",
    "pyarrow", "pyiceberg", "pyspark", "urllib3", "xxhash",
)  # fmt: skip
"""Libraries that the base does not bring."""


_ONE_BY_ONE = """
import contextlib, io, json, sys
from towpath.cli.main import main
ended = []
for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    ended.append((code, out.getvalue(), err.getvalue()))
json.dump(ended, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


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


def towpath(env: Mapping[str, str], *commands: Sequence[object]) -> list[Done]:
    """Run `towpath` with each of these arguments in such an environment, in one process.

    What an extra brings stays away in all of it, and a process costs a second.
    """
    done = subprocess.run(
        [sys.executable, "-c", _ONE_BY_ONE],
        input=json.dumps([[str(word) for word in words] for words in commands]),
        env=dict(env), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Done(*each) for each in json.loads(done.stdout)]
