"""A real systemd that keeps units in tests: a manager of a user that sees nothing but its own.

systemd moves all processes of the control group that it takes for the root, so its control groups
are those of a namespace of its own, in which only the second version of them is mounted, and the
root is a group that was made for it. It wants a machine that was booted with systemd, which it
takes from `/run/systemd/system`: there is one in its mount namespace.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.kafka import wait_until

_PROGRAMS = (Path("/usr/lib/systemd/systemd"), Path("/lib/systemd/systemd"))
_TARGETS = ("default", "basic", "shutdown", "exit", "sysinit")
_GROUPS = Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")
"""Where the second version of control groups may be mounted."""
_BEGIN = 'echo $$ > "$1/cgroup.procs" && exec unshare --mount --cgroup sh -c "$2" sh "$3"'
_INSIDE = (
    "set -e; mount -t cgroup2 none /sys/fs/cgroup; mount -t tmpfs tmpfs /run;"
    ' mkdir -p /run/systemd/system; exec "$1" --user --log-target=console'
)
_PATIENCE = 60.0


def found() -> Path | None:
    """Return the program; None where it is not there or cannot be run here."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("systemctl", "unshare"))):
        return None
    program = next((each for each in _PROGRAMS if each.exists()), None)
    return program if _own_group() is not None else None


def _own_group() -> Path | None:
    """Return the control group of this process, of the second version; None without one."""
    told = Path("/proc/self/cgroup").read_text().splitlines()
    path = next((each.removeprefix("0::/") for each in told if each.startswith("0::/")), None)
    at = next((each for each in _GROUPS if (each / "cgroup.controllers").exists()), None)
    if path is None or at is None:
        return None
    return at / path if os.access(at / path / "cgroup.procs", os.W_OK) else None


class UserSystemd:
    """The manager; it and all of its units end with the block.

    Args:
        program: What `found` returned.
    """

    def __init__(self, program: Path) -> None:
        self._program = program
        # The path of its socket has 108 bytes at most, and folders of tests are deep.
        self._runtime = Path(tempfile.mkdtemp(prefix="systemd-"))
        self._units = self._runtime / "units"

    def __enter__(self) -> Self:
        group = _own_group()
        assert group is not None
        self._group = group / f"towpath-tests-{os.getpid()}"
        self._group.mkdir()
        self._units.mkdir()
        for each in _TARGETS:
            (self._units / f"{each}.target").write_text("[Unit]\nDefaultDependencies=no\n")
        words = ["sh", "-c", _BEGIN, "sh", str(self._group), _INSIDE, str(self._program)]
        environment = {**os.environ, **self._environment}
        environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        with (self._runtime / "log").open("wb") as log:
            self._process = subprocess.Popen(
                words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        wait_until(lambda: self.systemctl("list-units").returncode == 0, "systemd answers")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._units.glob("*.service"):
            self.systemctl("kill", "--signal=SIGKILL", each.name)
        self._process.send_signal(signal.SIGRTMIN + 24)  # exit at once
        self._process.wait(_PATIENCE)
        wait_until(self._is_group_removed, "the processes of all units have ended", _PATIENCE)
        shutil.rmtree(self._runtime)

    def _is_group_removed(self) -> bool:
        """Remove the control groups; while one of their processes still ends they are busy."""
        with suppress(OSError):
            for each in sorted(self._group.rglob("*"), reverse=True):
                if each.is_dir():
                    each.rmdir()
            self._group.rmdir()
        return not self._group.exists()

    @property
    def command(self) -> str:
        """A script in place of `systemctl` that reaches this manager."""
        told = " ".join(f"{key}={value}" for key, value in self._environment.items())
        return f'#!/bin/sh\nexec env {told} /usr/bin/systemctl --user "$@"\n'

    def systemctl(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run `systemctl`."""
        environment = {**os.environ, **self._environment}
        command = ["systemctl", "--user", *words]
        return subprocess.run(command, env=environment, capture_output=True, check=False)

    def unit(self, name: str, *lines: str, log: Path) -> None:
        """Define a unit, whose section `[Service]` has these lines."""
        log.parent.mkdir(parents=True, exist_ok=True)
        own = (f"StandardOutput=append:{log}", "StandardError=inherit")
        text = "\n".join(("[Unit]", "DefaultDependencies=no", "[Service]", *own, *lines))
        (self._units / name).write_text(text + "\n")
        assert self.systemctl("daemon-reload").returncode == 0

    @property
    def _environment(self) -> dict[str, str]:
        return {"XDG_RUNTIME_DIR": str(self._runtime), "SYSTEMD_UNIT_PATH": str(self._units)}
