"""`towpath lint`, as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from towpath.cli.main import main

GOOD = """\
source: {bootstrap: "a:9092", sasl: {mechanism: PLAIN, username: u, password: env:TOWPATH_UNSET}}
target: {bootstrap: "b:9092"}
link: orders
topics: {include: ["orders"]}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOWPATH_UNSET", raising=False)
    path = Path("link.yaml")
    path.write_text(GOOD)
    return path


def test_a_good_file_has_no_problems(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWPATH_UNSET", "now it is set")
    assert main(["lint", str(file)]) == 0
    assert capsys.readouterr().out == "link.yaml: no problems\n"
    assert main(["lint", str(file), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": "link.yaml", "problems": [], "notes": [],
    }  # fmt: skip


def test_problems_are_listed_with_their_paths(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(GOOD.replace("link: orders", "lnk: orders"))
    assert main(["lint", str(file)]) == 2
    assert capsys.readouterr() == (
        "",
        "link.yaml:1:1: link: is required\n"
        "link.yaml:1:79: source.sasl.password: variable TOWPATH_UNSET is not set in the"
        " environment\n"
        "link.yaml:3:1: lnk: unknown key, did you mean link?\n",
    )
    assert main(["lint", str(file), "--output", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["problems"] == [
        {"path": path, "text": text, "file": "link.yaml", "line": line, "column": column}
        for path, text, line, column in (
            ("link", "is required", 1, 1),
            (
                "source.sasl.password",
                "variable TOWPATH_UNSET is not set in the environment",
                1,
                79,
            ),
            ("lnk", "unknown key, did you mean link?", 3, 1),
        )
    ]


def test_the_environment_can_be_left_out(file: Path) -> None:
    assert main(["lint", str(file)]) == 2
    assert main(["lint", str(file), "--no-environment"]) == 0
