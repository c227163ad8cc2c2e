"""`-e`, `--set` and `--chilled`, before or behind the file, as Redpanda Connect takes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from towpath.cli.connect_options import split, variables_of
from towpath.cli.main import main
from towpath.mirror.connect.load import examine
from towpath.model.errors import ConfigError
from towpath.settings.connect_files import ConnectWishes, wish

FILE = """
input:
  redpanda_migrator:
    seed_brokers: ["${SOURCE_ADDRESS}"]
    topics: [orders]
    consumer_group: mover
output:
  redpanda_migrator:
    seed_brokers: ["b:9092"]
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SOURCE_ADDRESS", "a:9092")
    yield
    wish(ConnectWishes())


def test_they_are_taken_wherever_they_stand() -> None:
    words = ["-e", "a.env", "run", "c.yaml", "--set=x.y=1=2", "--chilled", "--env-file=b.env", "-v"]
    found = split([*words, "--set", "z=", "--", "-e", "c.env"])
    assert found.rest == ["run", "c.yaml", "-v", "--", "-e", "c.env"]
    assert (found.files, found.sets, found.chilled) == (["a.env", "b.env"], ["x.y=1=2", "z="], True)
    assert split(["run", "-e"]).rest == ["run", "-e"]


def test_variables_come_from_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prod.env"
    path.write_text(
        "# a comment\n\nA=1\nexport B = two words # not this\nC='a # b'\n"
        'D="x\\ny"\nE=\nF=a#b\nG.h=$X\n'
    )
    assert variables_of(path) == {
        "A": "1", "B": "two words", "C": "a # b", "D": "x\ny", "E": "", "F": "a#b", "G.h": "$X",
    }  # fmt: skip
    path.write_text("A=1\nno line\n")
    with pytest.raises(ConfigError, match=r"line 2: must be NAME=value"):
        variables_of(path)
    with pytest.raises(ConfigError, match="No such file"):
        variables_of(tmp_path / "none")


def test_a_file_is_read_with_variables_values_and_without_unknown_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, env = tmp_path / "connect.yaml", tmp_path / "prod.env"
    path.write_text(FILE)
    env.write_text("SOURCE_ADDRESS=c:9092\n")
    place = "input.redpanda_migrator"
    sets = [
        f"{place}.topics.-=payments",
        f"{place}.start_offset=latest",
        f"{place}.commit_period=9s",
    ]
    words = [word for each in sets for word in ("--set", each)]
    assert main(["lint", str(path), "-e", str(env), *words]) == 0
    found = examine(path).file
    assert found is not None
    migrator = found.input.redpanda_migrator
    assert migrator is not None
    assert (migrator.seed_brokers, migrator.topics) == (("c:9092",), ("orders", "payments"))
    assert (migrator.start_offset, migrator.commit_period) == ("latest", 9.0)
    capsys.readouterr()

    unknown = ["--set", f"{place}.shiny=true"]
    assert main(["lint", str(path), *unknown]) == 2
    assert f"{place}.shiny" in capsys.readouterr().err
    assert main(["lint", str(path), *unknown, "--chilled"]) == 0
    told = capsys.readouterr()
    assert f"{place}.shiny is not known, and left out (--chilled)" in told.out + told.err


def test_what_is_wrong_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text(FILE)
    assert main(["lint", str(path), "--set", "nothing"]) == 2
    assert "--set: must be PATH=VALUE" in capsys.readouterr().err
    assert main(["lint", str(path), "--set", "input.redpanda_migrator.topics.5=x"]) == 2
    told = capsys.readouterr()
    assert "to a place that its list does not have" in told.out + told.err
    ours = tmp_path / "link.yaml"
    ours.write_text("link: x\nsource: {bootstrap: a}\ntarget: {bootstrap: b}\n")
    assert main(["plan", str(ours), "--set", "link=y"]) == 2
    assert "--set: is for files of Redpanda Connect" in capsys.readouterr().err
