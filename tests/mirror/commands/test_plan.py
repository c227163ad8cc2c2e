"""`towpath plan` on real clusters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import create_topic
from towpath.cli.main import main
from towpath.dev import ports
from towpath.dev.broker import LocalCluster

NewName = Callable[[str], str]


def write(folder: Path, source: str, target: str, topic: str, timeout: str = "30s") -> str:
    file = folder / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source}', request_timeout: {timeout}}}\n"
        f"target: {{bootstrap: '{target}', request_timeout: {timeout}}}\n"
        f"link: orders-to-new\ntopics: {{include: ['{topic}'], rename: 'eu.{{topic}}'}}\n"
    )
    return str(file)


@pytest.mark.parametrize("rate", ["0", "50", "50XB", "fast", "1B", "200GB", "1.MB", "-5MB"])
def test_a_rate_is_written_as_for_towpath_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: str
) -> None:
    file = write(tmp_path, "a:1", "b:1", "orders")
    assert main(["plan", file, f"--rate={rate}"]) == 2
    why = capsys.readouterr().err.removeprefix("--rate: ").rstrip()
    assert main(["rate", file, "--", rate]) == 2
    assert capsys.readouterr().err.rstrip() == f"RATE: {why}, or none"


@pytest.mark.broker
def test_a_plan_as_text_and_as_json(
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = create_topic(source.bootstrap, new_name("shown"), 3, {"segment.ms": "60000"})
    file = write(tmp_path, source.bootstrap, target.bootstrap, name)
    assert main(["plan", file]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"source {source.bootstrap}: cluster {source.cluster_id}, Kafka 4." in shown
    assert f"create {name} eu.{name} 3 1 segment.ms=60000" in shown
    assert "to copy nothing of 0 B in 1 topic" in shown
    assert "1 topic to mirror: 1 to create, 0 to grow, 0 there already; 0 problems" in shown
    assert main(["plan", file, "--output", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["link"], data["topics"]) == ("orders-to-new", {name: f"eu.{name}"})
    assert data["steps"] == [
        {
            "do": "CreateTopic",
            "subject": "topics",
            "source": name,
            "target": f"eu.{name}",
            "partitions": 3,
            "replication_factor": 1,
            "configs": {"segment.ms": "60000"},
            "held": {},
        }
    ]
    assert data["source"]["id"] == source.cluster_id
    notes = [note for note in data["notes"] if note["about"] != "groups.configs"]  # of other tests
    assert (notes, data["problems"]) == ([], [])
    to = tmp_path / "plan.json"
    assert main(["plan", file, "--save", str(to), "--output", "json"]) == 0
    again = json.loads(capsys.readouterr().out)
    for each in (data, again):
        del each["to_copy"]["free"]  # it changes all the time
    assert again == {**data, "saved": True}
    saved = json.loads(to.read_text())
    del saved["to_copy"]["free"]
    assert saved.items() >= data.items()


def test_clusters_that_are_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = ports.reserve(2)
    file = write(tmp_path, f"127.0.0.1:{first}", f"127.0.0.1:{second}", "orders", "1s")
    assert main(["plan", file]) == 4
    shown = capsys.readouterr().out
    assert "source  did not answer" in shown
    assert "target  did not answer" in shown
    for side, port in (("source", first), ("target", second)):
        assert f"problem: {side}: connecting to 127.0.0.1:{port}" in shown


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_plan_that_cannot_be_applied_is_not_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    first, second = ports.reserve(2)
    file = write(tmp_path, f"127.0.0.1:{first}", f"127.0.0.1:{second}", "orders", "1s")
    to = tmp_path / "plan.json"
    assert main(["plan", file, "--save", str(to), "--output", form]) == 4
    assert not to.exists()
    out, err = capsys.readouterr()
    assert err == ""
    if form == "json":
        data = json.loads(out)
        assert data["saved"] is False
        assert [each["about"] for each in data["problems"]] == ["source", "target"]
    else:
        assert out.count("nothing was saved, as this plan could not be applied") == 1


def test_a_wrong_file_ends_with_2_and_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "nowhere", "b:1", "orders")
    assert main(["plan", file]) == 2
    assert "source.bootstrap" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "diff", "lint", "run", "status"])
def test_a_saved_plan_is_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"format": 1, "steps": [], "digest": "", "topics": {"a": "b"}}))
    assert main([command, str(file)]) == 2
    assert capsys.readouterr().err == (
        f"{file}: is a saved plan, which `towpath apply` takes alone; name the YAML file of the"
        " link\n"
    )


@pytest.mark.parametrize(("command", "depth"), [("apply", 100_000), ("plan", 1_000)])
def test_a_file_that_is_nested_too_deeply_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, depth: int
) -> None:
    """One is read as JSON, which goes deeper than YAML before it gives up."""
    file = tmp_path / "plan.json"
    file.write_text('{"format": ' + "[" * depth)
    assert main([command, str(file)]) == 2
    assert "nested too deeply" in capsys.readouterr().err


def test_a_plan_that_is_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    assert main(["apply", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"{file}: no such plan; `towpath plan FILE --save {file}` makes one\n"
    )
