"""SIGINT, SIGTERM and SIGHUP end every command in good order."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.program import START, Program, environment
from towpath.cli import main as frame
from towpath.cli.main import main
from towpath.cli.signals import SignalledError, interrupting, stopping
from towpath.dev import ports

READS = ("diff", "status", "history", "apply")
"""Commands that change nothing, or nothing yet: they are interrupted."""
WORKS = (("run",), ("verify",), ("cutover",), ("repair", "--topics", "t"))
"""Commands that end at a safe point."""


@pytest.fixture(autouse=True)
def hang_up() -> Iterator[None]:
    """Let SIGHUP arrive, also where the tests were started by nohup, which ignores it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def played(program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a Python program that signals itself."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, check=False, timeout=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_asks_to_stop(number: int) -> None:
    before = signal.getsignal(number)
    with stopping() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(30)
        os.kill(os.getpid(), signal.SIGHUP)  # it is never the second one
    assert signal.getsignal(number) == before


def test_a_signal_that_meets_a_main_thread_about_to_wait_is_not_lost() -> None:
    """A handler that set the event itself would wait forever for the lock it has interrupted."""
    program = (
        "import os, signal; from towpath.cli.signals import stopping\n"
        "with stopping() as stop:\n"
        "    with vars(stop)['_cond']: os.kill(os.getpid(), signal.SIGTERM)\n"
        "    assert stop.wait(30)"
    )
    done = played(program)
    assert done.returncode == 0, done.stderr


def test_a_signal_that_does_not_wake_the_main_thread_is_not_late() -> None:
    """One that comes just before the main thread waits does not; nor one that another takes."""
    program = (
        "import signal, threading, time; from towpath.cli.signals import stopping\n"
        "taken = threading.Event()\n"
        "other = threading.Thread(target=taken.wait, daemon=True)\n"
        "with stopping() as stop:\n"
        "    other.start()\n"
        "    send = lambda: signal.pthread_kill(other.ident, signal.SIGTERM)\n"
        "    threading.Timer(0.2, send).start()\n"
        "    begun = time.monotonic()\n"
        "    assert stop.wait(30)\n"
        "    print('late' if time.monotonic() - begun > 20 else 'at once')"
    )
    done = played(program)
    assert (done.stdout, done.returncode) == (b"at once\n", 0), done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_without_a_safe_point_a_signal_interrupts(number: int) -> None:
    with pytest.raises(SignalledError) as raised, interrupting():
        os.kill(os.getpid(), number)
    assert raised.value.number == number


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_exit_code_tells_the_signal(
    monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def explain() -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr(frame, "import_module", lambda _: SimpleNamespace(explain=explain))
    with interrupting():
        assert main(["explain"]) == code


def test_the_second_signal_ends_at_once() -> None:
    program = (
        "import os, signal, time; from towpath.cli.signals import stopping\n"
        "with stopping() as stop:\n"
        "    for _ in range(2): os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)"
    )
    done = played(program)
    assert done.returncode == 130, done.stderr


def test_the_same_sigterm_may_come_twice() -> None:
    """`timeout` signals the command and then its group; a later one is the second signal."""
    program = (
        "import os, signal, time; from towpath.cli import signals\n"
        "with signals.stopping() as stop:\n"
        "    for _ in range(2): os.kill(os.getpid(), signal.SIGTERM); time.sleep(0)\n"
        "    assert stop.wait(30)\n"
        "    time.sleep(signals._ECHO)\n"
        "    print('drained', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)"
    )
    done = played(program)
    assert (done.stdout, done.returncode) == (b"drained\n", 143), done.stderr


def test_an_interrupted_command_is_interrupted_once() -> None:
    program = (
        "import os, signal; from towpath.cli.signals import interrupting\n"
        "with interrupting():\n"
        "    try: os.kill(os.getpid(), signal.SIGTERM)\n"
        "    finally: os.kill(os.getpid(), signal.SIGTERM); print('closed', flush=True)"
    )
    done = played(program)
    assert done.stdout == b"closed\n", done.stderr


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping() as stop, interrupting():
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_command_whose_terminal_closes_ends_at_its_safe_point(tmp_path: Path) -> None:
    """Each write to a terminal that has hung up fails."""
    done = tmp_path / "done"
    program = (
        "import sys, pathlib; from towpath.cli.signals import stopping\n"
        "with stopping() as stop:\n"
        "    print('begun', flush=True)\n"
        "    stop.wait(60)\n"
        f"    print('ended', flush=True); pathlib.Path({str(done)!r}).write_text('well')\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment(), stdout=theirs, stderr=theirs,
        stdin=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:  # all of the line, or its write fails
        assert terminal.readline() == b"begun\r\n"
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 0
    assert done.read_text() == "well"


class SilentBroker:
    """Accepts connections and answers none, as a frozen broker does."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.calls: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self.calls.append(self._server.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        self._server.close()
        for call in self.calls:
            call.close()


@pytest.fixture
def silent() -> Iterator[SilentBroker]:
    with closing(SilentBroker()) as broker:
        yield broker


def link_file(silent: SilentBroker, folder: Path) -> str:
    file = folder / "link.yaml"
    side = f"{{bootstrap: '{silent.address}', request_timeout: 1s}}"
    file.write_text(
        f"source: {side}\ntarget: {side}\nlink: l\ntopics: {{include: [t], rename: c}}\n"
    )
    return str(file)


INTERRUPTED_IMPORT = """
import os, signal, sys
from importlib.metadata import EntryPoint

class Interrupter:
    def find_spec(self, name, path, target=None):
        if name == 'towpath.cli.options':
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
entry, *sys.argv = sys.argv[1:]
EntryPoint('towpath', entry, 'console_scripts').load()()
"""


def test_ctrl_c_while_the_program_is_imported_ends_it_quietly() -> None:
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    entry = project["project"]["scripts"]["towpath"]
    # A program inherits what is ignored, as in the background of a shell; a handler it does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = played(INTERRUPTED_IMPORT, entry, "towpath", "--version")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ignored = played(INTERRUPTED_IMPORT, entry, "towpath", "--version")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    assert (ignored.returncode, ignored.stderr) == (0, b""), "what is ignored stays ignored"


@contextmanager
def signalled(number: int, silent: SilentBroker) -> Iterator[None]:
    """Send a signal to this process once it waits for an answer of the broker."""
    over = threading.Event()

    def send() -> None:
        wait_until(lambda: bool(silent.calls) or over.is_set(), "it asks a broker", START)
        if not over.is_set():
            os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


@pytest.mark.slow
def test_the_program_itself_is_interrupted(silent: SilentBroker, tmp_path: Path) -> None:
    program = Program(tmp_path, "plan", link_file(silent, tmp_path))
    try:
        wait_until(lambda: bool(silent.calls) or not program.running, "it asks a broker", START)
        assert program.running, program.said
        program.send(signal.SIGTERM)
        assert program.wait(60) == 128 + signal.SIGTERM
    finally:
        program.close()
    assert "Traceback" not in program.said


@pytest.mark.parametrize("command", READS)
def test_a_command_that_reads_is_interrupted(
    command: str, silent: SilentBroker, tmp_path: Path, here: Here
) -> None:
    number = signal.SIGHUP if command == "status" else signal.SIGTERM
    with interrupting(), signalled(number, silent):
        ended = here(command, link_file(silent, tmp_path))
    assert ended.code == 128 + number, ended.said
    assert "Traceback" not in ended.said


@pytest.mark.spark
@pytest.mark.parametrize("command", WORKS, ids=lambda command: command[0])
def test_a_command_that_works_ends_in_good_order(
    command: tuple[str, ...], silent: SilentBroker, tmp_path: Path, here: Here
) -> None:
    first, *more = command
    with interrupting(), signalled(signal.SIGHUP, silent):
        ended = here.on_spark(first, link_file(silent, tmp_path), *more)
    assert ended.code in {3, 4}, ended.said
    assert "Traceback" not in ended.said


@pytest.mark.broker
def test_clusters_that_were_just_starting_are_stopped(tmp_path: Path) -> None:
    source, target = map(str, ports.reserve(2))
    where = ("--home", str(tmp_path / "dev"), "--source-port", source, "--target-port", target)
    program = Program(tmp_path, "dev", "up", *where)
    try:
        wait_until(lambda: bool(program.children()), "a broker starts", START)
        brokers = program.children()
        program.send(signal.SIGTERM)
        assert program.wait(60) == 143, program.said
    finally:
        program.close()
    # Who adopts them may take a moment to hear that they ended.
    wait_until(lambda: not any(map(psutil.Process.is_running, brokers)), "the brokers have ended")
    assert ports.is_free(int(source))
