"""Commands in processes of their own, as somebody at a terminal would start them.

So what they do, tell, refuse and survive over HTTP is what they do at the terminal.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from towpath.http.shapes import CommandJson

_LINES = 1000
_KEPT = 200
"""Commands that have ended and are still told of."""
_AT_ONCE = 16
_KILLED = 128
"""Plus the number of a signal, the exit code of what it ended, as shells have it."""
_END = 15.0
"""Seconds that commands have to end in good order when the service stops."""


class BusyError(Exception):
    """No more commands may run now."""


@dataclass(slots=True)
class RunningCommand:
    """A command that was started.

    Attributes:
        link: The link.
        command: Its words, such as `link show`.
        id: Its name over HTTP.
        said: The lines that it wrote to its standard error.
        exit_code: Its exit code, once it has ended.
        output: The JSON document that it wrote, once it has ended.
        ended: Set at its end.
    """

    link: str
    command: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    exit_code: int | None = None
    output: dict[str, Any] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def as_json(self) -> CommandJson:
        """Return what is told of it."""
        return CommandJson(
            id=self.id,
            link=self.link,
            command=self.command,
            state="running" if self.exit_code is None else "ended",
            exit_code=self.exit_code,
            said=[*self.said],
            output=self.output,
        )

    async def wait(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)


class RunningCommands:
    """All commands that were started.

    Args:
        files: The file of each link.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._known: dict[str, RunningCommand] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._is_over = False
        self.count = 0

    def __iter__(self) -> Iterator[RunningCommand]:
        return iter([*self._known.values()])

    def find(self, name: str) -> RunningCommand | None:
        """Return a command by its id."""
        return self._known.get(name)

    def start(self, link: str, words: str, options: Sequence[str]) -> RunningCommand:
        """Start a command on the file of a link.

        Raises:
            BusyError: As many commands run as may, or the service stops.
        """
        if self._is_over or len(self._tasks) >= _AT_ONCE:
            raise BusyError
        made = RunningCommand(link, words)
        self._known[made.id] = made
        self.count += 1
        line = [*words.split(), str(self._files[link]), *options, "--output", "json"]
        self._tasks[made.id] = asyncio.create_task(self._run(made, line))
        self._forget()
        return made

    async def end(self) -> None:
        """Ask all commands to end, and wait for that; those that do not end are killed.

        No other ones begin.
        """
        self._is_over = True
        for each in self._processes.values():
            with suppress(ProcessLookupError):
                each.terminate()
        if self._tasks:
            await asyncio.wait([*self._tasks.values()], timeout=_END)
        for each in [*self._processes.values()]:
            with suppress(ProcessLookupError):
                each.kill()
        if self._tasks:
            await asyncio.wait([*self._tasks.values()])

    async def _run(self, made: RunningCommand, line: Sequence[str]) -> None:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "towpath", *line,
                stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe,
            )  # fmt: skip
        except OSError as error:
            made.said.append(f"it could not be started: {error.strerror}")
            made.exit_code = 1
        else:
            self._processes[made.id] = process
            made.exit_code, made.output = await _followed(process, made.said)
            del self._processes[made.id]
        del self._tasks[made.id]
        made.ended.set()

    def _forget(self) -> None:
        over = [name for name, each in self._known.items() if each.exit_code is not None]
        for name in over[: max(len(over) - _KEPT, 0)]:
            del self._known[name]


async def _followed(
    process: asyncio.subprocess.Process, said: deque[str]
) -> tuple[int, dict[str, Any] | None]:
    """Return exit code and output of a process; note the lines that it says meanwhile."""
    out, errors = (cast("asyncio.StreamReader", of) for of in (process.stdout, process.stderr))
    written, _ = await asyncio.gather(out.read(), _follow(errors, said))
    code = await process.wait()
    return (code if code >= 0 else _KILLED - code), _document(written)


async def _follow(stream: asyncio.StreamReader, said: deque[str]) -> None:
    """Note lines as they come, of very long ones the end."""
    pending = b""
    while piece := await stream.read(1 << 16):
        *lines, pending = (pending + piece).split(b"\n")
        said.extend(line.decode(errors="replace") for line in lines if line.strip())
        pending = pending[-(1 << 16) :]
    if pending.strip():
        said.append(pending.decode(errors="replace"))


def _document(out: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        found = json.loads(out)
        if isinstance(found, dict):
            return found
    return None
