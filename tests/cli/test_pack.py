"""`towpath pack`, and the option that uses its archive; `engine/test_packing.py` looks inside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from towpath.cli.main import main
from towpath.engine import packing
from towpath.engine.packing import Packed


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    def pack(path: Path) -> Packed:
        path.write_bytes(b"x" * 2048)
        return Packed(path, {"towpath": "0.1.0", "numba": "0.68.1"}, 2048, "ab" * 32)

    monkeypatch.setattr(packing, "pack", pack)


@pytest.mark.usefixtures("quick")
def test_its_size_digest_and_use_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "towpath.tar.gz"
    assert main(["pack", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{out}: 2.0 KiB, 2 packages, sha256 {'ab' * 32}" in said
    assert f"towpath run FILE --master MASTER --packages-archive {out}" in said
    assert main(["pack", str(out), "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["packages"] == {"towpath": "0.1.0", "numba": "0.68.1"}
    assert (told["file"], told["bytes"]) == (str(out), 2048)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("towpath.zip", "must end in .tar.gz or .tgz, else Spark does not unpack it"),
        ("nowhere/towpath.tgz", "does not exist"),
    ],
)
def test_a_file_that_cannot_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    assert main(["pack", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("OUT.tar.gz: ")
    assert text in said


@pytest.mark.parametrize("command", ["run", "verify", "cutover", "repair"])
@pytest.mark.parametrize("master", [[], ["--master", "local[2]"]])
def test_an_archive_without_a_cluster_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, master: list[str]
) -> None:
    more = ["--topics", "a"] if command == "repair" else []
    arguments = [command, str(tmp_path / "link.yaml"), *more, *master]
    assert main([*arguments, "--packages-archive", "towpath.tar.gz"]) == 2
    assert "--packages-archive: is for the workers of a Spark cluster" in capsys.readouterr().err
