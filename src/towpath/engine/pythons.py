"""Spark's Python command on the driver's machine, and the template process behind it.

The program is a launcher (`engine/launcher.py`) in a folder that only this user can enter. The
template, which forks the processes that the launcher asks for (`engine/template.py`), listens in
the same folder. Where workers get an archive of packages (`engine/packages.py`), the launcher has
the path below that folder which the program of the archive has on workers.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from towpath.engine import launcher
from towpath.engine.folder import short_folder
from towpath.engine.packages import PROGRAM
from towpath.model.errors import WorkersError

PYTHONS = "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"
"""Variables that name the program that Spark takes for Python."""
_PREFIX = "towpath-"
"""What the name of a template's folder begins with; the driver's process id comes next."""
_LAUNCHER = """#!/bin/sh
exec {python} -I -S {script} {socket} "$@"
"""


@dataclass(frozen=True, slots=True)
class Running:
    """The template process of this driver, and the command that Spark uses as Python.

    Attributes:
        process: The template.
        launcher: The program that Spark takes for Python on this machine.
        folder: The folder in which Spark's JVM must work, `None` if that does not matter.
        theirs: The value of each variable that `start` has replaced.
    """

    process: subprocess.Popen[bytes]
    launcher: Path
    folder: Path | None
    theirs: dict[str, str]


_RUNNING: list[Running] = []


def start(master: str | None, works: Sequence[str], *, packed: bool = False) -> None:
    """Start the template process, unless it runs or Spark uses another Python.

    Args:
        master: Elsewhere than on this machine Spark needs a Python that all machines have.
        works: Modules that workers need.
        packed: Whether workers elsewhere get an archive of packages.

    Raises:
        WorkersError: Workers get an archive, and no program can be run in the temporary folder.
    """
    here = master is None or master.startswith("local")
    theirs = {name: os.environ[name] for name in PYTHONS if name in os.environ}
    if _RUNNING or not (packed or (here and not theirs and "SPARK_HOME" not in os.environ)):
        return
    _sweep(Path(short_folder() or tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=short_folder()))
    path = _launcher(folder, PROGRAM if packed else "python")
    if not os.access(path, os.X_OK):  # programs may be forbidden where temporary files are
        shutil.rmtree(folder)
        if packed:
            raise WorkersError(f"no program can be run in {folder.parent}; set TMPDIR to another")
        return
    modules = () if packed else works  # workers elsewhere import them
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()  # whoever asks before the template has begun waits for it
        screen = _screen()
        given = [str(listener.fileno()), str(screen)]
        process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-m", "towpath.engine.template", *given, *modules],
            stdin=subprocess.PIPE,  # it ends when this process does
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[each for each in (listener.fileno(), screen) if each >= 0],
            process_group=0,  # a key that ends this process lets the workers end their work
        )
    if screen >= 0:
        os.close(screen)
    os.environ.update(dict.fromkeys(PYTHONS, PROGRAM if packed else str(path)))
    _RUNNING.append(Running(process, path, folder if packed else None, theirs))


def _screen() -> int:
    """Return a copy of the descriptor of standard error, -1 if that is closed."""
    try:
        return os.dup(2)
    except OSError:
        return -1


def running() -> Running | None:
    """Return the template process of this driver, `None` if there is none."""
    return _RUNNING[-1] if _RUNNING else None


def stop() -> None:
    """Stop the template process; its forks end together with Spark."""
    while _RUNNING:
        ended = _RUNNING.pop()
        ended.process.communicate()
        for name in PYTHONS:
            os.environ.pop(name, None)
        os.environ.update(ended.theirs)


def _sweep(place: Path) -> None:
    """Delete the folders of templates that were killed, so that they could not do it themselves."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether neither the driver lives, which needs the launcher, nor a template listens.

    Raises:
        OSError: Both belong to another user.
        ValueError: The folder is none of a template.
    """
    with suppress(ProcessLookupError):
        os.kill(int(folder.name.removeprefix(_PREFIX).split("-")[0]), 0)
        return False
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        return asking.connect_ex(str(folder / "socket")) in {errno.ECONNREFUSED, errno.ENOENT}


def _launcher(folder: Path, name: str) -> Path:
    words = {"python": sys.executable, "script": launcher.__file__, "socket": folder / "socket"}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_LAUNCHER.format(**{name: quote(str(word)) for name, word in words.items()}))
    path.chmod(0o700)
    return path
