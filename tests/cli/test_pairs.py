"""Commands that do their work for each of several pairs."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from towpath.cli.main import main
from towpath.cli.pairs import asked_pairs, over_pairs, run_beside
from towpath.cli.show.json_schemas import adapter
from towpath.cli.show.output import remember_form
from towpath.model.errors import ConfigError
from towpath.settings.connect_files import ConnectWishes, wish

FILE = """
input:
  broker:
    inputs:
      - label: eu
        redpanda_migrator: {seed_brokers: ["a:9092"], topics: [orders], consumer_group: ""}
      - label: us
        redpanda_migrator: {seed_brokers: ["b:9092"], topics: [orders], consumer_group: ""}
output:
  broker:
    outputs:
      - label: us
        redpanda_migrator: {seed_brokers: ["c:9092"], topic: "us_${! @kafka_topic }"}
      - label: eu
        redpanda_migrator: {seed_brokers: ["c:9092"], topic: "eu_${! @kafka_topic }"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "connect.yaml"
    path.write_text(FILE)
    yield path
    wish(ConnectWishes())


def test_commands_are_done_for_each_pair(file: Path) -> None:
    assert asked_pairs("run", ["run", str(file)]) == ("eu", "us")
    assert asked_pairs("status", ["status", "--topics", "x", str(file)]) == ("eu", "us")
    assert asked_pairs("verify", ["verify", str(file)]) == ("eu", "us")
    assert asked_pairs("cutover", ["cutover", str(file)]) == ()
    assert asked_pairs("run", ["run", str(file), "--help"]) == ()
    wish(ConnectWishes(pair="us"))
    assert asked_pairs("run", ["run", str(file)]) == ()


def test_what_is_of_one_link_needs_one_pair(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"is for one pair, and .* has several; add --pair eu"):
        asked_pairs("plan", ["plan", str(file), "--save", "x.json"])
    with pytest.raises(ConfigError, match=r"x.html is a page of one link"):
        over_pairs("run", ["run", str(file), "--report", "x.html"], ("eu", "us"), lambda _: 0)


def test_json_is_one_document_for_all_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    def once(arguments: Sequence[str]) -> int:
        if arguments[1] == "us":
            return 4
        sys.stdout.write('{"link": "eu-1"}')
        return 0

    remember_form(["status", "--output", "json"])
    try:
        assert over_pairs("status", ["status", "c.yaml", "-o", "json"], ("eu", "us"), once) == 4
        told = capsys.readouterr().out
        equal = "import json; print(json.dumps({'equal': True}))"
        commands = {"eu": python(equal), "us": python("raise SystemExit(3)")}
        assert run_beside(commands, in_turn=True, as_one=True) == 3
    finally:
        remember_form([])
    assert json.loads(told) == {
        "pairs": [
            {"pair": "eu", "exit_code": 0, "output": {"link": "eu-1"}},
            {"pair": "us", "exit_code": 4, "output": None},
        ]
    }
    adapter("pairs").validate_json(told, strict=True)
    beside = json.loads(capsys.readouterr().out)["pairs"]
    assert [each["output"] for each in beside] == [{"equal": True}, None]


def test_reports_are_one_document_for_all_pairs(tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    def once(arguments: Sequence[str]) -> int:
        *_, option = arguments
        Path(option.removeprefix("--report=")).write_text(json.dumps({"pair": arguments[1]}))
        return 0

    words = ["status", "c.yaml", "--report", str(report), "--topics", "x"]
    assert over_pairs("status", words, ("eu", "us"), once) == 0
    told = json.loads(report.read_text())["pairs"]
    assert [each["output"] for each in told] == [{"pair": "eu"}, {"pair": "us"}]


def test_the_report_of_a_pair_that_fails_has_its_error(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    report.write_text('{"link": "of an earlier command"}')
    words = ["verify", str(file), "--pair", "eu", "--from", "colour", "--report"]
    assert main([*words, str(report)]) == 2
    told = json.loads(report.read_text())
    adapter("error").validate_python(told, strict=True)
    assert told["error"]["problems"][0]["path"] == "--from"
    assert "'colour' is not an offset" in capsys.readouterr().err
    for path in (tmp_path / "none" / "one.json", tmp_path / "one.html"):
        assert main([*words, str(path)]) == 2
        assert not path.exists(), "a page, and a file that cannot be written"


def test_pairs_that_a_signal_left_out_have_no_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    stop = "import os, signal; os.kill(os.getppid(), signal.SIGTERM); input()"
    words = ["status", "c.yaml", "--report", str(report)]
    assert over_pairs("status", words, ("eu", "us"), lambda _: 143) == 143
    told = report.read_text()
    assert [each["exit_code"] for each in json.loads(told)["pairs"]] == [143, None]
    adapter("pairs").validate_json(told, strict=True)
    capsys.readouterr()
    remember_form(["verify", "--output", "json"])
    try:
        run_beside({"eu": python(stop), "us": python("")}, in_turn=True, as_one=True)
    finally:
        remember_form([])
    assert json.loads(capsys.readouterr().out)["pairs"][1]["exit_code"] is None


def test_all_pairs_are_watched_until_a_signal(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Sequence[str]] = []

    def once(arguments: Sequence[str]) -> int:
        seen.append(arguments)
        if len(seen) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return 3

    assert over_pairs("status", ["status", "c.yaml", "--watch"], ("eu", "us"), once) == 3
    assert len(seen) == 4
    assert all("--watch" not in words for words in seen)
    assert capsys.readouterr().out == "pair eu:\npair us:\n" * 2


def test_one_pair_after_the_other_gives_the_highest_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[Sequence[str]] = []
    codes = iter([3, 0])

    def once(arguments: Sequence[str]) -> int:
        seen.append(arguments)
        return next(codes)

    assert over_pairs("plan", ["plan", "c.yaml"], ("eu", "us"), once) == 3
    assert seen == [["--pair", "eu", "plan", "c.yaml"], ["--pair", "us", "plan", "c.yaml"]]
    assert capsys.readouterr().out == "pair eu:\npair us:\n"


def test_a_signal_ends_the_pairs_that_are_left() -> None:
    codes = iter([130])
    assert over_pairs("plan", ["plan", "c.yaml"], ("eu", "us"), lambda _: next(codes)) == 130


def test_other_commands_ask_which_pair_is_meant(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(file)]) == 2
    assert "has several pairs (eu, us); name one: --pair eu" in capsys.readouterr().err
    assert main(["repair", str(file), "--pair", "asia"]) == 2
    assert "has no pair asia; it has eu, us" in capsys.readouterr().err


def test_lint_checks_all_pairs_at_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file)]) == 0
    told = capsys.readouterr().out
    assert "no problems" in told
    assert "note: pair us: each record gets headers of the migrator" in told


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_processes_print_with_their_label_and_give_the_highest_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fails = "import sys; print('no', file=sys.stderr); sys.exit(4)"
    codes = {"eu": python("print('one\\ntwo')"), "us": python(fails)}
    assert run_beside(codes) == 4
    told = capsys.readouterr()
    assert told.out == "eu: one\neu: two\n"
    assert "us: no\n" in told.err


# A signal just before a sleep is handled behind it, so sleeps are short.
WAITS = """
import signal, sys, time
def end(number, frame):
    print("ended", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open({place!r}, "w").close()
while True:
    time.sleep(0.05)
"""


def test_a_pair_that_fails_is_told_and_a_signal_ends_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = tmp_path / "ready"

    def stop() -> None:
        wait_for(ready.exists)
        wait_for(lambda: "pair us ended" in told_so_far())
        os.kill(os.getpid(), signal.SIGTERM)

    told: list[str] = []

    def told_so_far() -> str:
        told.append(capsys.readouterr().err)
        return "".join(told)

    thread = threading.Thread(target=stop)
    thread.start()
    commands = {"eu": python(WAITS.format(place=str(ready))), "us": python("raise SystemExit(3)")}
    assert run_beside(commands) == 3
    thread.join()
    assert "pair us ended with exit code 3; to run it again, give the same" in "".join(told)


class Unread(io.StringIO):
    """A stream that nobody reads any more."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_processes_end_when_nobody_reads_what_they_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = WAITS.format(place=str(tmp_path / "ready"))
    monkeypatch.setattr(sys, "stdout", Unread())
    code = waits.replace("while True:", "print('begun', flush=True)\nwhile True:")
    assert run_beside({"eu": python(code)}) == 0


def test_a_process_ends_with_its_starter(tmp_path: Path) -> None:
    """However the starter ends: the kernel closes its end of the pipe."""
    ready = tmp_path / "ready"
    code = "from towpath.cli.starter import end_with_starter\nend_with_starter()\n"
    command = python(code + WAITS.format(place=str(ready)))
    environment = {**os.environ, "TOWPATH_STARTER": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin
        wait_for(ready.exists)
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_process_may_end_before_its_starter() -> None:
    code = (
        "import threading, time\n"
        "from towpath.cli.starter import end_with_starter\n"
        "end_with_starter()\n"
        "assert any(each.name == 'starter' for each in threading.enumerate())\n"
        "time.sleep(0.2)\n"
        "raise SystemExit(4)\n"
    )
    assert run_beside({"eu": python(code)}) == 4


def wait_for(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)
