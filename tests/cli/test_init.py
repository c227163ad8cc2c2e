"""`towpath init`: the example is right, with and without its keys to take over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from towpath.archive.config import load_archive
from towpath.cli.main import main
from towpath.settings import check, load


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_writes_a_file_that_lint_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert capsys.readouterr().out == (
        "towpath.yaml written; adapt it, then run `towpath lint towpath.yaml`\n"
    )
    assert load(Path("towpath.yaml")).topics.include == ("orders", "payments.*")


def test_it_writes_the_file_of_an_archive() -> None:
    assert main(["init", "--kind", "archive"]) == 0
    found = load_archive(Path("towpath.yaml"))
    assert (found.archive, found.region) == ("my-first-archive", "eu-central-1")


@pytest.mark.parametrize(("kind", "number"), [("link", 14), ("archive", 15), ("kraft", 11)])
def test_its_commented_keys_are_right_too(kind: str, number: int) -> None:
    assert main(["init", "link.yaml", "--kind", kind]) == 0
    path = Path("link.yaml")
    text, taken = re.subn(r"(?m)^( *)#(?![# ])|^#(?= )", r"\1", path.read_text())
    path.write_text(text)
    assert taken == number
    assert [each.path for each in check(path, with_environment=False)] == (
        ["store.storage_class"] if kind == "archive" else []  # a folder has none, a bucket has
    )


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
