"""The frame: commands, errors, exit codes, and what is not imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import typer

from towpath import __version__
from towpath.cli import main as frame
from towpath.cli.main import COMMANDS, greeting, main
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, show
from towpath.model.amounts import count
from towpath.model.errors import ConfigError, ConfigProblem, TargetReplacedError, UnreachableError

Register = Callable[[Callable[[], int | None]], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Make `towpath lint` do something else, with the option `--output`."""

    def as_lint(body: Callable[[], int | None]) -> None:
        def lint(*, output: OutputOption = Output.TEXT) -> int | None:
            del output
            return body()

        monkeypatch.setattr(frame, "import_module", lambda _: SimpleNamespace(lint=lint))

    return as_lint


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def towpath(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from towpath.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )


ERRORS = [
    (
        ConfigError((ConfigProblem("a.b", "is wrong"), ConfigProblem("", "x"))),
        2,
        "CONFIG",
        "a.b: is wrong\nx",
    ),
    (
        UnreachableError("source", "connecting to a:1", "refused", "start it"),
        4,
        "CLUSTER_UNREACHABLE",
        "source: connecting to a:1: refused; start it",
    ),
    (
        TargetReplacedError("orders"),
        3,
        "TARGET_REPLACED",
        "target: topic orders was deleted and created again while it was written; the next round or"
        " run copies it again",
    ),
    (
        KeyError("x"),
        1,
        "FAULT",
        "a fault in Towpath: KeyError: 'x'; `towpath --debug ...` shows where",
    ),
    (
        RuntimeError("one\ntwo"),
        1,
        "FAULT",
        "a fault in Towpath: RuntimeError: one two; `towpath --debug ...` shows where",
    ),
    (ValueError(), 1, "FAULT", "a fault in Towpath: ValueError; `towpath --debug ...` shows where"),
]


@pytest.mark.parametrize(("error", "exit_code", "code", "text"), ERRORS)
def test_an_error_is_a_sentence_and_an_exit_code(
    register: Register,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    exit_code: int,
    code: str,
    text: str,
) -> None:
    register(raising(error))
    assert main(["lint"]) == exit_code
    more = "" if code == "CONFIG" else f"see `towpath explain {code}`\n"
    assert capsys.readouterr() == ("", f"{text}\n{more}")
    assert main(["lint", "--output", "json"]) == exit_code
    out, err = capsys.readouterr()
    nowhere = {"file": None, "line": None, "column": None}
    problems = [
        {"path": "a.b", "text": "is wrong", **nowhere}, {"path": "", "text": "x", **nowhere},
    ]  # fmt: skip
    expected = {"code": code, "text": text, "problems": problems if exit_code == 2 else []}
    assert json.loads(out) == {"error": expected}
    assert err == ""


def test_debug_shows_the_traceback(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register(raising(KeyError("x")))
    assert main(["--debug", "lint"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupted_command_is_no_fault(
    register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    register(raising(KeyboardInterrupt()))
    assert main(["lint"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("returned", "exit_code"), [(None, 0), (0, 0), (3, 3)])
def test_what_a_command_returns_is_the_exit_code(
    register: Register, returned: int | None, exit_code: int
) -> None:
    register(lambda: returned)
    assert main(["lint"]) == exit_code


def test_typer_exit_is_the_exit_code(register: Register) -> None:
    register(raising(typer.Exit(3)))
    assert main(["lint"]) == 3


FINE = {"file": "é", "problems": [], "notes": list[str]()}
"""What the command shows of a file without problems."""


def test_a_result_is_text_or_json(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> None:
        rows = [["orders", count(1234567)], ["p[a]y", "7"]]
        show(Grid(["topic", "records"], rows, right=["records"]), FINE)

    register(body)
    assert main(["lint"]) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "topic      records",
        "──────────────────",
        "orders   1,234,567",
        "p[a]y            7",
    ]
    assert main(["lint", "-o", "json"]) == 0
    told = '{\n  "file": "\\u00e9",\n  "problems": [],\n  "notes": []\n}\n'
    assert capsys.readouterr().out == told


def test_a_long_text_is_not_wrapped(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register(lambda: show("a " * 300, FINE))
    assert main(["lint"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


USAGE = [
    (["lint"], "Missing argument 'FILE'."),
    (["lint", "a", "b"], "Got unexpected extra argument(s) (b)"),
    (["lint", "a", "--fast"], "No such option: --fast"),
    (["lnt"], "No such command 'lnt'. Did you mean 'lint'?"),
    (["lint", "a", "--output", "xml"], "'xml' is not one of 'text', 'json'"),
]


@pytest.mark.parametrize(("arguments", "text"), USAGE)
def test_wrong_arguments_exit_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert text in err
    assert err.endswith("\nSee `towpath --help`, also behind a command.\n")
    assert out == ""


def test_wrong_arguments_are_json_where_that_was_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for form in (["--output=json"], ["--output", "json"], ["-o", "json"], ["-ojson"]):
        assert main(["lint", "--fast", *form]) == 2
        assert json.loads(capsys.readouterr().out) == {
            "error": {
                "code": "USAGE",
                "text": "No such option: --fast\nSee `towpath --help`, also behind a command.",
                "problems": [],
            }
        }


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("Usage: towpath [OPTIONS] COMMAND")


def test_the_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, summary in COMMANDS.items():
        assert f"  {name} " in out
        assert summary.split(",")[0] in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: towpath {name}" in capsys.readouterr().out


def test_slow_commands_show_something_at_once() -> None:
    assert greeting(["run", "x.yaml"]) == f"towpath {__version__} run\n"
    assert [greeting(words) for words in (["status", "x"], ["run", "--help"], [])] == [""] * 3


@pytest.mark.slow
def test_the_program_itself_ends_with_the_exit_codes() -> None:
    version = towpath("--version")
    assert (version.returncode, version.stdout) == (0, f"towpath {__version__}\n")
    missing = towpath("lint", "no-such-file.yaml")
    assert missing.returncode == 2
    assert missing.stderr == (
        "no-such-file.yaml: no such file; `towpath init no-such-file.yaml` writes an example\n"
    )
    assert towpath("lint").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["lint", "no-such-file.yaml"]])
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    heavy = "pyspark", "pyarrow", "numba", "numpy", "kafka"
    program = (
        "import sys; from towpath.cli.main import main; main(sys.argv[1:]);"
        f"sys.exit(', '.join(name for name in {heavy} if name in sys.modules) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
