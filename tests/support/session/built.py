"""Programs that tests need and that are built with Go, once."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from towpath.runtime.home import home_folder


def built(name: str, package: str, version: str) -> Path | None:
    """Return a program; build it once with Go, or return None where there is no Go.

    Args:
        name: What the program is called here.
        package: The package of its command.
        version: The version of its module.
    """
    program = home_folder() / "bin" / f"{name}-{version}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        environment = os.environ | {"GOBIN": scratch, "CGO_ENABLED": "0"}
        build = [go, "install", "-p", "1", "-trimpath", "-ldflags=-s -w", f"{package}@{version}"]
        subprocess.run(build, env=environment, check=True, capture_output=True)
        (Path(scratch) / package.rpartition("/")[2]).replace(program)
    return program
