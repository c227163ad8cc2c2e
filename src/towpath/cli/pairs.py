"""Files of Redpanda Connect with several pairs: commands that do their work for each of them.

`run` is one process for each pair, all at the same time; other commands take one pair after the
other (docs/decisions/0112).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from towpath.cli.signals import KILLED, forwarding
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings.connect_files import PAIR, connect_files, is_connect, wished

_RUN = "run"
_OVER_ALL = frozenset({_RUN, "plan", "status"})
"""Commands that do their work for each pair; all others need to be told which one."""
_OF_ONE = ("--output", "-o", "--report", "--save", "--watch")
"""Options that make sense for one link alone."""


_STDIN = 0
_STARTER = "TOWPATH_STARTER"
"""Variable by which a process knows that it ends when its starter does."""


def end_with_starter() -> None:
    """Stop this process in good order as soon as the one that started it for a pair has ended.

    The starter holds the other end of stdin, which the kernel closes however it ends.
    """
    if os.environ.pop(_STARTER, ""):
        threading.Thread(target=_await_starter, name="starter", daemon=True).start()


def _await_starter() -> None:
    # Not through `sys.stdin`, whose lock a process cannot end under that has such a thread.
    while os.read(_STDIN, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def asked_pairs(command: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the pairs that a command is to be done for, none where it is done once.

    Args:
        command: The name of the command.
        arguments: Its arguments, without those of files of Redpanda Connect.

    Raises:
        ConfigError: One of the options is for one pair alone.
    """
    if command not in _OVER_ALL or wished().pair is not None or {"-h", "--help"} & {*arguments}:
        return ()
    file = next((Path(word) for word in arguments if is_connect(Path(word))), None)
    labels = _labels(file) if file else ()
    if len(labels) < 2:
        return ()
    for option in _OF_ONE:
        if any(_names(word, option) for word in arguments):
            text = f"is for one pair, and {file} has several; add {PAIR} {labels[0]}"
            raise ConfigError((ConfigProblem(option, text),))
    return labels


def _names(word: str, option: str) -> bool:
    """Return whether an argument is an option, with its value or without."""
    return word.partition("=")[0] == option or (option == "-o" and word.startswith("-o"))


def _labels(file: Path) -> tuple[str, ...]:
    try:
        return connect_files().pairs(file)
    except ConfigError:
        return ()  # the command says what is wrong


def over_pairs(
    command: str,
    arguments: Sequence[str],
    labels: Sequence[str],
    once: Callable[[Sequence[str]], int],
) -> int:
    """Do a command for each pair, and return the highest exit code.

    Args:
        command: The name of the command.
        arguments: All arguments, as they were given.
        labels: The pairs.
        once: Does a command with its arguments, and returns its exit code.
    """
    each = {label: [PAIR, label, *arguments] for label in labels}
    if command == _RUN:
        program = [sys.executable, "-m", "towpath"]
        return run_beside({label: [*program, *words] for label, words in each.items()})
    highest = 0
    for label, words in each.items():
        sys.stdout.write(f"pair {label}:\n")
        sys.stdout.flush()
        highest = max(highest, once(words))
        if highest > KILLED:  # by a signal, which is meant for all
            break
    return highest


def run_beside(
    commands: Mapping[str, Sequence[str]],
    again: str = "",
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> int:
    """Run a process for each pair until all have ended, and return the highest exit code.

    Signals go on to all of them. What they print is printed with the label before each line. A
    process that fails ends no other one.

    Args:
        commands: The program of each pair, with its arguments.
        again: How to start one of them again, "" for by its pair.
        more: Further variables of each.
    """
    family = _Family(again)
    with forwarding(family.send):
        for label, command in commands.items():
            family.start(label, command, (more or {}).get(label, {}))
        return family.wait()


class _Family:
    """The processes of all pairs."""

    def __init__(self, again: str) -> None:
        self._again = again
        self._lock, self._printing = threading.Lock(), threading.Lock()
        self._signals: list[int] = []
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []
        self._codes: dict[str, int] = {}

    def start(self, label: str, command: Sequence[str], more: Mapping[str, str]) -> None:
        """Start the process of a pair, in a group of its own: a terminal's Ctrl-C comes once."""
        process = subprocess.Popen(  # noqa: S603  # our own program
            command,
            env={**os.environ, **more, _STARTER: "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            process_group=0,
        )
        with self._lock:
            self._processes[label] = process
            for number in self._signals:
                process.send_signal(number)
        thread = threading.Thread(target=self._attend, args=(label, process), name=f"pair-{label}")
        thread.start()
        self._threads.append(thread)

    def send(self, number: int) -> None:
        """Send a signal to each process, also to those that start later."""
        with self._lock:
            self._signals.append(number)
            for process in self._processes.values():
                process.send_signal(number)

    def wait(self) -> int:
        """Wait until all processes have ended; return the highest exit code."""
        for thread in self._threads:
            thread.join()
        return max(self._codes.values())

    def _attend(self, label: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout  # noqa: S101, both are pipes
        assert process.stderr  # noqa: S101
        with process:
            also = threading.Thread(target=self._pass_on, args=(label, process.stderr, sys.stderr))
            also.start()
            self._pass_on(label, process.stdout, sys.stdout)
            also.join()
            self._ended(label, process.wait())

    def _ended(self, label: str, code: int) -> None:
        """Keep the exit code of a process; tell of one that fails while others go on."""
        code = KILLED - code if code < 0 else code
        with self._lock:
            self._codes[label] = code
            others = len(self._processes) - len(self._codes)
            fails_alone = code and others and not self._signals
        if fails_alone:
            which = label if self._again else f"pair {label}"
            again = self._again or f"to run it again, give the same command with {PAIR} {label}"
            self._print(sys.stderr, f"{which} ended with exit code {code}; {again}\n")

    def _pass_on(self, label: str, lines: IO[str], out: IO[str]) -> None:
        try:
            for line in lines:
                self._print(out, f"{label}: {line}")
        except OSError:  # nobody reads any more: all end, and their last lines go nowhere
            self.send(signal.SIGTERM)
            for _ in lines:
                pass

    def _print(self, out: IO[str], line: str) -> None:
        with self._printing:
            out.write(line)
            out.flush()
