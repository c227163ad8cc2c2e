"""Promtool, which tests the alerts."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from towpath.runtime.home import home_folder

PACKAGES = ("promtool", "prometheus")
"""Packages of Debian and Ubuntu that hold it, the newer first.

Building it with Go takes minutes and gigabytes, as it knows all clouds.
"""

_IMPATIENT = ("-o", "Acquire::http::Timeout=10", "-o", "Acquire::Retries=0")
_PATIENCE = 60.0


def fetch() -> Path | None:
    """Return the program: that of the machine, or the system's package unpacked, if there is one.

    Nothing is installed, and no rights are needed.
    """
    found = shutil.which("promtool")
    program = Path(found) if found else home_folder() / "bin" / "promtool"
    if program.exists():
        return program
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        unpacked = next(filter(None, (_unpack(name, Path(scratch)) for name in PACKAGES)), None)
        return unpacked.replace(program) if unpacked else None


def _unpack(package: str, folder: Path) -> Path | None:
    download = ["apt-get", "-qq", *_IMPATIENT, "download", package]
    try:
        subprocess.run(download, cwd=folder, check=True, capture_output=True, timeout=_PATIENCE)
        [archive] = folder.glob(f"{package}_*.deb")
        subprocess.run(["dpkg", "-x", str(archive), str(folder / package)], check=True)
    except subprocess.SubprocessError:
        return None  # no such package, or nobody who has it
    program = folder / package / "usr" / "bin" / "promtool"
    return program if program.exists() else None
