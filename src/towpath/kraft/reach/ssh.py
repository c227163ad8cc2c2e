"""Nodes that are systemd units on hosts reached by ssh.

The system's own ssh is used, with its settings, keys and agent. One connection for each host is
kept open for a minute (ControlMaster), as a look asks a host several things.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence

from towpath.kraft.config.drivers import SshDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.child import ChildLateError, printable, run_child
from towpath.kraft.reach.scripts import ABSENT, PROCESS, READ, REMOVE, WRITE
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline

_PATIENCE = 60.0
"""Seconds for one command whose deadline nobody gives."""
_PAUSE = 0.2
_LINES = 20
_SSH = 255
_CONTROL = "ControlPath=~/.ssh/towpath-%C"
"""One socket for each user, host and port; `%C` is a hash, as such paths must be short."""

_OPTIONS = (
    "BatchMode=yes",
    "ControlMaster=auto",
    "ControlPersist=60",
    _CONTROL,
    # A host that is silent is given up before a look is over, and its connection with it.
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
)
_MARK = "towpath-output-begins"
"""Comes before what a command prints: files of a login shell may print something before it."""

_MODIFIED = f'[ -e "$1" ] || exit {ABSENT}; stat -L -c %.3Y -- "$1"'
_FREE = (
    'p=$1; while [ ! -e "$p" ]; do p=$(dirname -- "$p"); done; df -B1 --output=avail -- "$p" | tail'
    " -n 1"
)
_SHOWN = (
    "LoadState,ActiveState,SubState,Result,InvocationID,MainPID,ExecMainStartTimestampMonotonic"
)
_KILLED = frozenset({"timeout", "core-dump", "oom-kill", "watchdog"})
"""What systemd says of a unit that did not end by itself when it was told to (systemd.service)."""
# When the main process was started, by the clock that `stat` tells: now, less the time since then.
_STARTED = (
    f'systemctl show -p {_SHOWN} -- "$1" || exit;'
    " echo Now=$(date +%s.%3N); echo Uptime=$(cut -d' ' -f1 /proc/uptime)"
)


class SshNode:
    """A node that is a systemd unit of a host; it outlives Towpath.

    Args:
        config: How hosts are reached, and what units are called.
        node: Its id.
        role: What it is.
        host: Its host, as ssh knows it.
    """

    def __init__(self, config: SshDriver, node: NodeId, role: Role, host: str) -> None:
        self._config, self._node, self._host = config, node, host
        self._key = "broker_unit" if role is Role.BROKER else "controller_unit"
        self._unit = str(getattr(config, self._key)).replace("{id}", str(node))

    def read(self, path: str) -> bytes | None:
        """Return a file's content, `None` if it does not exist."""
        return self._script(READ, path, f"reading {path}")

    def modified(self, path: str) -> int | None:
        """Return the modification time of a file, in ms since 1970; `None` if it does not exist."""
        told = self._script(_MODIFIED, path, f"looking at {path}")
        return None if told is None else round(float(told) * 1000)

    def write(self, path: str, data: bytes) -> None:
        """Replace a file atomically; a link's target is replaced."""
        if self.read(path) != data:
            self._script(WRITE, path, f"writing {path}", data, self._user, str(len(data)))

    def require_ours(self, path: str) -> None:
        """Do nothing, as files on hosts have no managers."""

    def remove(self, path: str) -> None:
        """Remove a file or a folder with its content, if it exists."""
        self._script(REMOVE, path, f"removing {path}")

    def free_bytes(self, path: str) -> int | None:
        """Return the free bytes on the disk of a path, or of its nearest existing parent.

        None where its file system does not tell.
        """
        told = (self._script(_FREE, path, f"asking for the free space of {path}") or b"").strip()
        return int(told) if told.isdigit() else None

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program as the unit's user until it ends, and return its output."""
        user = ("-u", self._user) if self._config.sudo and self._user else ()
        done = self._call([*self._sudo, *user, *command], f"running {command[0]}", deadline)
        return printable(done)

    def start(self) -> None:
        """Start the node's unit unless it runs; return before the node is ready."""
        if self._shown()["ActiveState"] == "failed":
            # One that failed too often would not be started, and nothing would say so.
            self._systemctl("reset-failed", self._unit)
        self._systemctl("start", "--no-block", self._unit)

    def stop(self, deadline: Deadline) -> bool:
        """Stop the unit, kill it at the deadline; return whether it ended by itself.

        systemd kills it before that where the unit's `TimeoutStopSec` is shorter. A process that
        somebody else has started meanwhile is left alone.
        """
        pid = self._shown().get("MainPID")
        self._systemctl("stop", "--no-block", self._unit)
        while (shown := self._shown())["ActiveState"] not in {"inactive", "failed"}:
            if deadline.over:
                if shown.get("MainPID") not in {pid, "0"}:
                    return True
                self._systemctl("kill", "--signal=SIGKILL", self._unit)
                self._await_end()
                return False
            time.sleep(_PAUSE)
        return shown.get("Result") not in _KILLED

    def started(self) -> int | None:
        """Return the start time of the node's process, in ms since 1970; `None` if it is stopped.

        A unit that prepares its start (`ExecStartPre`) starts now: its process reads its files
        later than this.
        """
        shown = self._shown()
        if not is_running(shown):
            return None
        began = int(shown["ExecMainStartTimestampMonotonic"]) / 1e6 if _pid(shown) else None
        running = 0.0 if began is None else float(shown["Uptime"]) - began
        return round((float(shown["Now"]) - running) * 1000)

    def incarnation(self) -> str | None:
        """Return a text that changes with each start of the node's process; `None` if stopped."""
        shown = self._shown()
        return (shown.get("InvocationID") or str(_pid(shown))) if is_running(shown) else None

    def process(self) -> str | None:
        """Return the process's command line and open jars, one word per line."""
        pid = self._shown().get("MainPID", "0")
        told = self._script(PROCESS, pid, "looking at its process") if pid != "0" else None
        return None if told is None else told.decode(errors="replace")

    def log(self, lines: int) -> str:
        """Return the last lines of the node's log."""
        command = ["journalctl", "--no-pager", "-o", "cat", "-n", str(lines), "-u", self._unit]
        return printable(self._call([*self._sudo, *command], "reading its log"))

    def _await_end(self) -> None:
        patience = Deadline.after(_PATIENCE)
        while _pid(self._shown()):
            if patience.over:
                raise DriverError(self._node, f"killing {self._unit}", "it is still there")
            time.sleep(_PAUSE)

    def _shown(self) -> Mapping[str, str]:
        told = self._script(_STARTED, self._unit, f"looking at {self._unit}") or b""
        lines = (line.partition("=") for line in told.decode(errors="replace").splitlines())
        shown = {key: value for key, _, value in lines}
        loaded = shown.get("LoadState", "loaded")
        if loaded != "loaded" and not is_running(shown):
            why = f"there is no unit {self._unit} ({loaded}) on {self._host}"
            advice = f"make it, or name another one as `driver.{self._key}`"
            raise DriverError(self._node, "looking at its unit", f"{why}: {advice}")
        return shown

    def _systemctl(self, *arguments: str) -> None:
        what = f"systemctl {' '.join(arguments)}"
        self._call([*self._sudo, "systemctl", *arguments], what)

    @property
    def _user(self) -> str:
        """The user that the unit runs as, "" where the unit names none."""
        command = ["systemctl", "show", "-p", "User", "--", self._unit]
        return printable(self._call(command, "asking for its user")).partition("=")[2]

    @property
    def _sudo(self) -> Sequence[str]:
        return ("sudo", "-n") if self._config.sudo else ()

    def _script(
        self, script: str, argument: str, what: str, data: bytes = b"", *more: str
    ) -> bytes | None:
        """Run a script of ours; None where it says that a file is not there."""
        done = self._run([*self._sudo, "sh", "-c", script, "sh", argument, *more], what, data)
        if done.returncode == ABSENT:
            return None
        # What it printed may be part of a file, with its passwords.
        return self._checked(done, what, done.stderr)

    def _call(self, command: Sequence[str], what: str, deadline: Deadline | None = None) -> bytes:
        done = self._run(command, what, deadline=deadline)
        return self._checked(done, what, done.stdout + done.stderr)

    def _run(
        self,
        command: Sequence[str],
        what: str,
        data: bytes = b"",
        deadline: Deadline | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        remote = f"echo {_MARK}; {shlex.join(command)}"
        words = [*ssh_command(self._config, self._host), remote]
        left = _PATIENCE if deadline is None else deadline.left()
        try:
            done = run_child(words, data, seconds=left)
        except ChildLateError as error:
            raise DriverError(self._node, what, f"host {self._host}: {error}") from error
        except OSError as error:
            raise DriverError(self._node, what, foreign(error)) from error
        _, marked, printed_behind = done.stdout.partition(f"{_MARK}\n".encode())
        if not marked and done.returncode == 0:
            why = f"its login shell does not run commands: {printable(done.stdout + done.stderr)}"
            raise DriverError(self._node, what, f"on {self._host}: {why}")
        if marked:
            done.stdout = printed_behind
        return done

    def _checked(self, done: subprocess.CompletedProcess[bytes], what: str, said: bytes) -> bytes:
        if done.returncode == 0:
            return done.stdout
        tail = "; ".join(printable(said).splitlines()[-_LINES:])
        where = f"ssh to {self._host} failed" if done.returncode == _SSH else f"on {self._host}"
        raise DriverError(self._node, what, f"{where}: code {done.returncode}: {tail}")


def is_running(shown: Mapping[str, str]) -> bool:
    """Return whether a unit's main process or its `ExecStartPre` commands run.

    A unit that waits for its next start (`auto-restart`) is activating, too, and does not run.
    """
    starts = shown.get("ActiveState") == "activating" and bool(shown.get("InvocationID"))
    return bool(_pid(shown)) or (starts and not shown.get("SubState", "").startswith("auto-"))


def _pid(shown: Mapping[str, str]) -> int:
    return int(shown.get("MainPID") or 0)


def ssh_command(config: SshDriver, host: str) -> Sequence[str]:
    """Return the start of an ssh command line to a host, without any prompts.

    Options of the file come first, as ssh takes the first value that it is given for one.
    """
    named = [word for each in (*config.options, *_OPTIONS) for word in ("-o", each)]
    port = ("-p", str(config.port)) if config.port is not None else ()
    user = ("-l", config.user) if config.user is not None else ()
    return ("ssh", *named, *port, *user, "--", host)
