"""How facts look in a terminal."""

from __future__ import annotations

import pytest
from rich.console import Console

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import console, line


def test_a_pipe_gets_no_color(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("x", style="bold red")
    console(stderr=True).print("y", style="bold red")
    assert capsys.readouterr() == ("x\n", "y\n")


def test_a_pipe_is_never_cut_or_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    words = "word " * 400
    console().print(line(words), Grid(["text"], [[words]]))
    assert [text.rstrip() for text in capsys.readouterr().out.splitlines()] == [
        words.rstrip(), "text", "─" * len(words), words.rstrip(),
    ]  # fmt: skip


def test_a_pipe_hears_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console().print(line("z" * 100), Grid(["text", "n"], [["y" * 100, "1,234,567"]], right=["n"]))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) == 40
    assert (out.count("z"), out.count("y"), out.count("1,234,567")) == (100, 100, 1)


def test_names_of_others_steer_no_terminal() -> None:
    name = "re\x1b[31md\u202e\r\n\tend ü 😀"
    assert line(name).plain == "re\\x1b[31md\\u202e\\r\n\\tend ü 😀"
    shown = Console(width=80)
    with shown.capture() as capture:
        shown.print(Grid(["group"], [[name]]))
    assert "re\\x1b[31md\\u202e\\r\\n\\tend ü 😀" in capture.get()
