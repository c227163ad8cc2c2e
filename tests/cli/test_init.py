"""`towpath init`: the example is right, with and without its keys to take over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from towpath.cli.main import main
from towpath.config import check, load


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_writes_a_file_that_lint_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert capsys.readouterr().out == (
        "towpath.yaml written; adapt it, then run `towpath lint towpath.yaml`\n"
    )
    assert load(Path("towpath.yaml")).topics.include == ("orders", "payments.*")


def test_its_commented_keys_are_right_too() -> None:
    assert main(["init", "link.yaml"]) == 0
    path = Path("link.yaml")
    text, taken = re.subn(r"(?m)^( *)#(?![# ])|^#(?= )", r"\1", path.read_text())
    path.write_text(text)
    assert taken == 14
    assert check(path, with_environment=False) == ()


def test_it_tells_programs_what_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "link.yaml", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": "link.yaml"}


def test_it_never_overwrites(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("towpath.yaml")
    path.write_text("mine")
    assert main(["init"]) == 2
    assert capsys.readouterr().err == (
        "towpath.yaml: already exists; choose another file name or move it\n"
    )
    assert path.read_text() == "mine"


def test_a_folder_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "no/such.yaml"]) == 2
    assert capsys.readouterr().err == (
        "no/such.yaml: cannot be written: No such file or directory\n"
    )
