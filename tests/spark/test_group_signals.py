"""Signals to every process of a command, as `timeout` and a terminal that closes send them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.program import START, Program, environment

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark(own=True),
    pytest.mark.timeout(600),
]
COMMANDS = (("run",), ("archive", "run"), ("restore", "run", "--follow"))
DRAINED = (signal.SIGTERM, signal.SIGHUP)
CUT_OFF = (signal.SIGQUIT, signal.SIGKILL)


class Commands:
    """The commands that go on until they are stopped, on one topic."""

    def __init__(
        self, folder: Path, name: str, source: SharedCluster, target: SharedCluster
    ) -> None:
        self.folder, self.source, self.target = folder, source, target
        self.topic = create_topic(source.bootstrap, f"{name}.topic")
        produce(source.bootstrap, self.topic, [Record(b"k", b"v")] * 10)
        self.archive = Archive(folder, source, name, segments={"max_age": "1s"})
        self._link = folder / "link.yaml"
        self._link.write_text(
            f"source: {{bootstrap: '{source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{target.bootstrap}'}}\n"
            f"link: {name}\ntopics: {{include: ['{self.topic}']}}\nrun: {{discover: 500ms}}\n"
        )

    def words(self, command: tuple[str, ...], here: Here) -> tuple[str, ...]:
        """Return the arguments of `towpath`."""
        file = str(self.archive.file)
        if "restore" in command:
            ended = here.on_spark("archive", "run", file, "--until-caught-up")
            assert ended.code == 0, ended.said
            self.archive.write(
                target={"bootstrap": self.target.bootstrap}, restore={"retention": "unlimited"}
            )
        return (*command, file if len(command) > 1 else str(self._link), *MASTER)

    def has_begun(self, command: tuple[str, ...]) -> bool:
        """Whether a command has done its work."""
        try:
            if "archive" in command:
                return bool(self.archive.segments(self.topic))
            return len(consume(self.target.bootstrap, self.topic)) == 10
        except Exception:  # noqa: BLE001  # there is no archive, or no topic yet
            return False


@pytest.fixture
def commands(
    tmp_path: Path, new_name: Callable[[str], str], source: SharedCluster, target: SharedCluster
) -> Commands:
    return Commands(tmp_path, new_name("signalled"), source, target)


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Let signals arrive, also where the tests run in the background, which ignores some."""
    numbers = signal.SIGHUP, signal.SIGQUIT
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [*DRAINED, *CUT_OFF], ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_all_processes_get_a_signal(
    commands: Commands, command: tuple[str, ...], number: signal.Signals, here: Here
) -> None:
    run = Program(commands.folder, *commands.words(command, here))
    try:
        wait_until(lambda: commands.has_begun(command) or not run.running, "it works", START)
        children = run.children()
        code = run.end_group(number)
        assert code == (0 if number in DRAINED else -number), run.said
        wait_until(lambda: not any(map(psutil.Process.is_running, children)), "all have ended")
    finally:
        run.close()
    assert "Traceback" not in run.said
    assert "JVM" not in run.said


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_timeout_ends_a_command_in_good_order(
    commands: Commands, command: tuple[str, ...], here: Here
) -> None:
    """It signals the command, then the whole group, so the command gets SIGTERM twice."""
    words = ["timeout", "30", sys.executable, "-m", "towpath", *commands.words(command, here)]
    done = subprocess.run(
        words, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 124, done.stderr
    assert "stopped after" in done.stdout + done.stderr, done.stdout + done.stderr
