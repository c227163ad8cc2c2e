"""Files of Redpanda Connect with several pairs: commands that do their work for each of them.

`run` is one process for each pair, all at the same time, `verify` one after the other; `plan` and
`status` take one pair after the other in this process (docs/decisions/0112). JSON and reports are
one document for all pairs.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import IO

from towpath.cli.options import write_report
from towpath.cli.show.output import print_json, wants_json
from towpath.cli.signals import KILLED, forwarding, stopping
from towpath.cli.starter import started
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings.connect_files import PAIR, connect_files, is_connect, wished

_RUN, _VERIFY, _WATCH = "run", "verify", "--watch"
_OVER_ALL = frozenset({_RUN, _VERIFY, "plan", "status"})
"""Commands that do their work for each pair; all others need to be told which one."""
_OF_ONE = ("--save",)
"""Options that make sense for one link alone."""
_LOOK = 2.0
"""Seconds between two looks of `--watch`."""

_ANEW = "\x1b[H\x1b[2J"
"""Clears a terminal."""
Once = Callable[[Sequence[str]], int]


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
    return word.partition("=")[0] == option


def _labels(file: Path) -> tuple[str, ...]:
    try:
        return connect_files().pairs(file)
    except ConfigError:
        return ()  # the command says what is wrong


def over_pairs(
    command: str,
    arguments: Sequence[str],
    labels: Sequence[str],
    once: Once,
) -> int:
    """Do a command for each pair, and return the highest exit code.

    Args:
        command: The name of the command.
        arguments: All arguments, as they were given.
        labels: The pairs.
        once: Does a command with its arguments, and returns its exit code.
    """
    from towpath.cli.pair_outputs import (  # noqa: PLC0415  # few commands wait for it
        as_json,
        report_of,
        with_report,
    )

    report = report_of(arguments)
    if report is None:
        return _done({label: [PAIR, label, *arguments] for label in labels}, command, once)
    with tempfile.TemporaryDirectory(prefix="towpath-pairs-") as folder:
        files = {label: Path(folder, str(number)) for number, label in enumerate(labels)}
        each = {la: [PAIR, la, *with_report(arguments, path)] for la, path in files.items()}
        codes = dict[str, int]()
        highest = _done(each, command, once, codes)
        told = {la: path.read_text() if path.exists() else "" for la, path in files.items()}
        write_report(report, as_json(told, codes))
    return highest


def _done(
    each: Mapping[str, Sequence[str]],
    command: str,
    once: Once,
    codes: dict[str, int] | None = None,
) -> int:
    """Do a command for each pair; print what it printed, as one document where that is JSON."""
    found, as_one = {} if codes is None else codes, wants_json()
    if command in {_RUN, _VERIFY}:
        program = [sys.executable, "-m", "towpath"]
        commands = {label: [*program, *words] for label, words in each.items()}
        return run_beside(commands, in_turn=command == _VERIFY, codes=found, as_one=as_one)
    if any(_WATCH in words for words in each.values()):
        return _watched(each, once)
    printed = dict[str, str]()
    for label, words in each.items():
        with redirect_stdout(io.StringIO()) if as_one else nullcontext() as text:
            if text is None:
                sys.stdout.write(f"pair {label}:\n")
                sys.stdout.flush()
            found[label] = once(words)
        printed[label] = "" if text is None else text.getvalue()
        if found[label] > KILLED:  # by a signal, which is meant for all
            break
    if as_one:
        _print_one(printed, found)
    return max(found.values())


def _print_one(printed: Mapping[str, str], codes: Mapping[str, int]) -> None:
    from towpath.cli.pair_outputs import as_json  # noqa: PLC0415  # as above

    print_json(as_json(printed, codes))


def _watched(each: Mapping[str, Sequence[str]], once: Once) -> int:
    """Look at all pairs again and again, in place on a terminal, until the user stops it."""
    if wants_json():
        text = "shows text only; leave out `--output json`"
        raise ConfigError((ConfigProblem(_WATCH, text),))
    looks = {la: [word for word in words if word != _WATCH] for la, words in each.items()}
    with stopping() as stop:
        while True:
            if sys.stdout.isatty():
                sys.stdout.write(_ANEW)
            highest = _done(looks, "", once)
            if highest > KILLED or stop.wait(_LOOK):
                return highest


def run_beside(
    commands: Mapping[str, Sequence[str]],
    again: str = "",
    more: Mapping[str, Mapping[str, str]] | None = None,
    *,
    in_turn: bool = False,
    codes: dict[str, int] | None = None,
    as_one: bool = False,
) -> int:
    """Run a process for each pair until all have ended, and return the highest exit code.

    Signals go on to all of them. What they print is printed with the label before each line. A
    process that fails ends no other one.

    Args:
        commands: The program of each pair, with its arguments.
        again: How to start one of them again, "" for by its pair.
        more: Further variables of each.
        in_turn: Whether one begins only once the one before has ended.
        codes: Gets the exit code of each.
        as_one: Whether they print JSON, of which one document is made.
    """
    family = _Family(again, keeps=as_one)
    with forwarding(family.send):
        for label, command in commands.items():
            if not family.signalled:
                family.start(label, command, (more or {}).get(label, {}))
            if in_turn:
                family.wait()
        highest = family.wait()
    if codes is not None:
        codes.update(family.codes)
    if as_one:
        _print_one({la: family.printed.get(la, "") for la in commands}, family.codes)
    return highest


class _Family:
    """The processes of all pairs.

    Args:
        again: How to start one of them again, "" for by its pair.
        keeps: Whether what they print to standard output is kept, and not printed.

    Attributes:
        printed: What was kept, by pair.
        codes: The exit codes of those that have ended.
    """

    def __init__(self, again: str, *, keeps: bool = False) -> None:
        self._again = again
        self._keeps = keeps
        self.printed: dict[str, str] = {}
        self.codes: dict[str, int] = {}
        self._lock, self._printing = threading.Lock(), threading.Lock()
        self._signals: list[int] = []
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []

    @property
    def signalled(self) -> bool:
        """Whether a signal came, which is meant for all."""
        return bool(self._signals)

    def start(self, label: str, command: Sequence[str], more: Mapping[str, str]) -> None:
        """Start the process of a pair, in a group of its own: a terminal's Ctrl-C comes once."""
        process = started(command, more)
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
        return max(self.codes.values(), default=0)

    def _attend(self, label: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout  # noqa: S101, both are pipes
        assert process.stderr  # noqa: S101
        with process:
            also = threading.Thread(target=self._pass_on, args=(label, process.stderr, sys.stderr))
            also.start()
            if self._keeps:
                self.printed[label] = process.stdout.read()
            else:
                self._pass_on(label, process.stdout, sys.stdout)
            also.join()
            self._ended(label, process.wait())

    def _ended(self, label: str, code: int) -> None:
        """Keep the exit code of a process; tell of one that fails while others go on."""
        code = KILLED - code if code < 0 else code
        with self._lock:
            self.codes[label] = code
            others = len(self._processes) - len(self.codes)
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
