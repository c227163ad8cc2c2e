"""The commands of "How to begin", executed one after the other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.here import MASTER, Here
from tests.support.pages.commands import blocks, shell_lines
from towpath.dev import ports, updown
from towpath.dev.load import load

PAGE = Path(__file__).parents[2] / "docs" / "begin.md"
SCALE = 0.02
"""Share of the data of the page. The page promises no time."""
SAYS = {
    "lint": "no problems",
    "plan": "2 topics to mirror: 2 to create",
    "run": "caught up after",
    "status": "identical",
    "verify": "12 equal of 12 partitions",
}
"""What the page says of the result."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "dev"
    updown.down(tmp_path / "dev")


@pytest.mark.broker
@pytest.mark.spark
def test_each_command_does_what_the_page_says(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Here
) -> None:
    text = PAGE.read_text()
    source, target = map(str, ports.reserve(2))
    text = text.replace("9092", source).replace("9093", target)
    monkeypatch.chdir(tmp_path)
    [link] = blocks(text, "yaml")
    Path("link.yaml").write_text(link)
    done = []
    for line in shell_lines(text):
        match shlex.split(line):
            case ["towpath", "dev", "up"]:
                where = ["--source-port", source, "--target-port", target]
                assert here("dev", "up", "--home", str(home), *where).code == 0
            case ["towpath", "dev", "down"]:
                assert here("dev", "down", "--home", str(home)).code == 0
            case ["python", "-m", "towpath.dev.load", bootstrap]:
                load(bootstrap, scale=SCALE)
            case ["towpath", command, *more]:
                spark = MASTER if command == "verify" else ()
                ended = here.run(*more) if command == "run" else here(command, *more, *spark)
                assert ended.code == 0, ended.said
                assert SAYS[command] in re.sub(r"\s+", " ", ended.said)
                done.append(command)
            case _:
                raise AssertionError(f"this test does not know the command: {line}")
    assert done == list(SAYS)
