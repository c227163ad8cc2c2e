"""How facts look in a terminal."""

from __future__ import annotations

import pytest

from towpath.cli.show.output import console


def test_a_pipe_gets_no_color(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("x", style="bold red")
    console(stderr=True).print("y", style="bold red")
    assert capsys.readouterr() == ("x\n", "y\n")
