"""An OpenSSH server on the loopback, unpacked from the system's package, and units for it.

Nothing is installed. The server wants a user `sshd`, which the NSS wrapper of Samba's tests gives
it. A program in the place of `systemctl` keeps each unit as a process, unless a real systemd is
given (`systemd.py`).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from towpath.dev import ports
from towpath.runtime.deadline import Deadline
from towpath.runtime.home import home_folder

_PACKAGES = ("openssh-server", "libnss-wrapper", "libwrap0")
_RUN = Path("/run/sshd")
_PATIENCE = 60.0
ROOT = Path(__file__).parents[3]

SYSTEMCTL = '''#!{python}
"""systemctl show|start|stop|kill of units that are processes; UNITS/NAME has the command."""
import signal, sys
from pathlib import Path
sys.path.insert(0, "{source}")
from towpath.runtime.deadline import Deadline
from towpath.runtime.kept_process import KeptProcess
verb, *words = sys.argv[1:]
unit = words[-1]
process = KeptProcess(Path("{folder}") / "run" / unit)
if verb == "start":
    process.start((Path("{folder}") / "units" / unit).read_text().split("\\n"))
elif verb == "stop":
    process.send(signal.SIGTERM)
elif verb == "kill":
    process.send(signal.SIGKILL)
elif "User" in words:
    print("User=")
else:
    pid = process.pid
    began = 0
    if pid is not None:
        ticks = int(Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[19])
        began = ticks * 10_000
    print("ActiveState=" + ("active" if pid else "inactive"))
    print(f"MainPID={{pid or 0}}")
    print(f"ExecMainStartTimestampMonotonic={{began}}")
'''
JOURNALCTL = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -n ] && lines=$2; shift; done
tail -n "$lines" "{folder}/run/$1/node.log"
"""
SUDO = """#!/bin/sh
[ "$1" = -n ] || exit 1
shift
exec "$@"
"""


def fetch() -> Path | None:
    """Return the folder of the unpacked packages; None where the system has none such."""
    if not all(map(shutil.which, ("apt-get", "dpkg", "ssh", "ssh-keygen"))):
        return None
    place = home_folder() / "sshd"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        command = ["apt-get", "-qq", "download", *_PACKAGES]
        try:
            subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=_PATIENCE)
        except subprocess.SubprocessError:
            return None
        for archive in Path(scratch).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(archive), f"{scratch}/root"], check=True)
        return (Path(scratch) / "root").replace(place)


class LocalSshd:
    """The server, its keys, and a folder of units; it is stopped at the end.

    Args:
        program: What `fetch` returned.
        folder: Where everything lies.
        systemctl: What stands in the place of `systemctl`.
    """

    def __init__(self, program: Path, folder: Path, systemctl: str = SYSTEMCTL) -> None:
        self._program, self.folder, self._systemctl = program, folder, systemctl
        self.port = ports.reserve(1)[0]
        self._made_run = False
        # The path of a socket has 108 bytes at most, and folders of tests are deep.
        self.sockets = Path(tempfile.mkdtemp(prefix="sshd-"))

    @property
    def options(self) -> tuple[str, ...]:
        """Options of ssh with which it reaches this server and nothing else."""
        return (
            f"IdentityFile={self.folder}/id",
            "StrictHostKeyChecking=no",
            f"UserKnownHostsFile={self.folder}/known",
            f"ControlPath={self.sockets}/s-%C",
            "LogLevel=ERROR",
        )

    @contextmanager
    def replaced(self, name: str, text: str) -> Iterator[None]:
        """Let one of its files say something else; `greeting` is what a login prints first."""
        file = self.folder / name
        before = file.read_text() if file.exists() else None
        file.write_text(text)
        try:
            yield
        finally:
            file.unlink() if before is None else file.write_text(before)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let its connections be silent, as those to a host that has lost its network."""
        pids = self._below(self._process.pid)
        assert pids, "nobody is connected"
        for each in pids:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in pids:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGCONT)

    @staticmethod
    def _below(pid: int) -> list[int]:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(each) for each in found]

    def unit(self, name: str, *command: str) -> None:
        """Define a unit."""
        (self.folder / "units" / name).write_text("\n".join(command))

    def __enter__(self) -> Self:
        (self.folder / "units").mkdir(parents=True)
        self._write_programs()
        for name in ("host", "id"):
            made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(made, check=True)
        self._write_accounts()
        (self.folder / "sshd_config").write_text(self._config())
        if not _RUN.exists():
            _RUN.mkdir(mode=0o755)
            self._made_run = True
        with (self.folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [self._program / "usr/sbin/sshd", "-D", "-e", "-f", self.folder / "sshd_config"],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        deadline = Deadline.after(_PATIENCE)
        while "listening" not in (self.folder / "log").read_text():
            assert not deadline.over, (self.folder / "log").read_text()
            assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for socket in self.sockets.iterdir():
            end = ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "127.0.0.1"]
            subprocess.run(end, check=False, capture_output=True)
        shutil.rmtree(self.sockets)
        for unit in (self.folder / "units").iterdir():
            command = [str(self.folder / "bin/systemctl"), "kill", unit.name]
            subprocess.run(command, check=False, capture_output=True)
        self._process.terminate()
        self._process.wait(_PATIENCE)
        if self._made_run:
            _RUN.rmdir()

    def _write_programs(self) -> None:
        (self.folder / "bin").mkdir()
        facts = {"python": sys.executable, "folder": self.folder, "source": ROOT / "src"}
        for name, text in (
            ("systemctl", self._systemctl),
            ("journalctl", JOURNALCTL),
            ("sudo", SUDO),
        ):
            program = self.folder / "bin" / name
            program.write_text(text.format_map(facts))
            program.chmod(0o755)

    def _write_accounts(self) -> None:
        users = Path("/etc/passwd").read_text()
        groups = Path("/etc/group").read_text()
        nobody = f"sshd:x:65533:65534::{_RUN}:/usr/sbin/nologin\n"
        (self.folder / "passwd").write_text(users + nobody)
        (self.folder / "group").write_text(groups)

    def _environment(self) -> dict[str, str]:
        libraries = self._program / "usr/lib"
        wrapper = next(libraries.rglob("libnss_wrapper.so"))
        return {
            "LD_LIBRARY_PATH": str(wrapper.parent),
            "LD_PRELOAD": str(wrapper),
            "NSS_WRAPPER_PASSWD": str(self.folder / "passwd"),
            "NSS_WRAPPER_GROUP": str(self.folder / "group"),
        }

    def _config(self) -> str:
        lines = (
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/host",
            f"AuthorizedKeysFile {self.folder}/id.pub",
            "StrictModes no",
            "UsePAM no",
            "PidFile none",
            "PasswordAuthentication no",
            "PermitRootLogin yes",
            f"ForceCommand PATH={self.folder}/bin:$PATH; export PATH;"
            f' cat {self.folder}/greeting 2>/dev/null; eval "$SSH_ORIGINAL_COMMAND"',
        )
        return "\n".join(lines) + "\n"
