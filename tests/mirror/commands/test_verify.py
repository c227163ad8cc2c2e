"""`towpath verify` on Spark and real brokers, as people and programs see it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import Ended, Here
from tests.support.kafka import Record, produce
from tests.support.logs.compare import TargetLog, row
from tests.support.mirror import Mirror
from tests.support.network.frozen import frozen_while_comparing, press_ctrl_c
from towpath.cli.main import main
from towpath.dev import ports
from towpath.dev.broker import LocalCluster

NewName = Callable[[str], str]
MASTER = ["--master", "local[2]"]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    """A topic of two partitions, copied, with 3,000 records each."""
    made = Mirror(tmp_path, source, target, new_name("prove"))
    made.create(2)
    # Batches too large to be merged on the way, so that both sides hold the same ones.
    values = [random.Random(i).randbytes(200) for i in range(6000)]
    records = [Record(b"%d" % i, value, (), i + 1, -1, i % 2) for i, value in enumerate(values)]
    produce(source.bootstrap, made.topic, records, {"compression.type": "lz4", "linger.ms": 200})
    made.catch_up()
    return made


def file_of(mirror: Mirror) -> str:
    mirror.config  # noqa: B018  # writes the file
    return str(mirror.folder / f"{mirror.link or mirror.topic}.yaml")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["verify", *arguments, *MASTER, "--output", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "error" not in told, told["error"]
    return code, told


@pytest.mark.broker
@pytest.mark.spark
def test_equal_then_behind_then_different(
    mirror: Mirror, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = file_of(mirror)
    report = str(tmp_path / "report.json")
    code, told = asked(capsys, file, "--report", report, "--isolation", "both")
    assert (code, told["equal"], told["records"]) == (0, True, 6000)
    assert [each["verdict"] for each in told["partitions"]] == ["equal", "equal"]
    assert [each["unopened"] for each in told["partitions"]] == [3000, 3000]
    assert json.loads((tmp_path / "report.json").read_text()) == told

    produce(mirror.source.bootstrap, mirror.topic, [Record(b"late", b"", (), 0, -1, 1)])
    code, told = asked(capsys, file)
    assert (code, told["behind"]) == (3, 1)
    first, second = told["partitions"]
    assert (first["verdict"], second["verdict"]) == ("equal", "left out")
    assert second["why"] == "offsets 3000 to 3000 not yet copied"

    opened = mirror.books(0).opened
    assert opened is not None
    with TargetLog(mirror.target, mirror.topic) as log:
        log.append([row(b"one", b"more")], opened.producer_id, 3000)
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"right", b"", (), 1000)])
    mirror.catch_up()
    code, told = asked(capsys, file)
    first, second = told["partitions"]
    assert (code, first["verdict"], second["verdict"]) == (3, "different", "equal")
    where = {"source_offset": -1, "target_offset": 3000, "what": "not on the source"}
    assert first["difference"] == where
    assert first["why"] == "first at target offset 3000: not on the source"
    assert first["source_digest"]["ordered"] != first["target_digest"]["ordered"]

    assert main(["verify", file, *MASTER]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "topic", "partition", "mode", "offsets", "records", "digest", "verdict", "why",
    ]  # fmt: skip
    assert lines[2].split()[:6] == [mirror.topic, "0", "mapped", "0", "to", "3000"]
    assert "1 equal, 1 different of 2 partitions: 6,002 equal records" in lines[-1]
    assert lines[-2].strip() == "see `towpath explain DIFFERENT`"


@pytest.mark.broker
@pytest.mark.spark
def test_the_whole_target_log_is_compared(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second link copied the same records; so did a producer, behind them."""
    other = replace(mirror, link=f"{mirror.topic}-other", more="  shared: true\n")
    other.catch_up()
    produce(mirror.target.bootstrap, mirror.topic, [Record(b"mine", b"")] * 2)
    code, told = asked(capsys, file_of(mirror))
    first, second = told["partitions"]
    assert (code, first["verdict"], second["verdict"]) == (3, "different", "different")
    assert first["why"] == (
        f"3,002 records on the target are surplus: this link did not write them (3,000 of link"
        f" {other.link}, 2 of producers without an id; the first at target offset 3000)"
    )
    link = {"link": other.link, "producer": -1, "records": 3000}
    assert second["others"] == [link]
    assert (second["foreign"], second["equal"]) == (3000, 3000)

    code, told = asked(capsys, file_of(other))
    assert (code, told["equal"]) == (0, True)
    first, second = told["partitions"]
    assert first["others"][0] == {"link": mirror.topic, "producer": -1, "records": 3000}
    assert any("of others, not compared" in note for note in second["notes"])


@pytest.mark.broker
@pytest.mark.spark
def test_parts_of_a_link_are_compared_alone(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(mirror)
    code, told = asked(capsys, file, "--from", "2900")
    assert (code, told["records"]) == (0, 200)
    assert [each["first"] for each in told["partitions"]] == [2900, 2900]

    code, told = asked(capsys, file, "--from", "1970-01-01T00:00:05.981Z")
    assert (code, told["records"]) == (0, 20)

    for beyond in ("9000", "2100-01-01T00:00:00Z"):
        assert main(["verify", file, "--from", beyond, *MASTER]) == 2
        text = "--from: no partition has copied records from there on, so nothing would be"
        assert text in capsys.readouterr().err

    code, told = asked(capsys, file, "--topics", mirror.topic)
    assert (code, told["equal"], len(told["partitions"])) == (0, True, 2)
    assert main(["verify", file, "--topics", "nothing-of-it", *MASTER]) == 3
    assert "no partition matches: nothing was compared" in capsys.readouterr().out
    assert main(["verify", file, "--topics", "(", *MASTER]) == 2
    assert "--topics: '(' is not a regular expression" in capsys.readouterr().err

    code, told = asked(capsys, file, "--sample", "--seed", "7")
    assert (code, told["sample_seed"], told["equal"]) == (0, 7, True)
    assert main(["verify", file, "--sample", *MASTER]) == 0
    assert "a sample, --seed " in capsys.readouterr().out


@pytest.mark.broker
def test_a_link_that_never_ran(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("never"))
    assert main(["verify", file_of(mirror)]) == 4
    assert capsys.readouterr().err == (
        f"the target's ledger knows nothing of link {mirror.topic}; mirror first, with"
        " `towpath run`, or correct `link`\nsee `towpath explain LEDGER`\n"
    )


@pytest.mark.broker
@pytest.mark.spark
def test_a_topic_that_was_never_copied_is_left_out(
    mirror: Mirror, new_name: NewName, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Mirror(mirror.folder, mirror.source, mirror.target, new_name("uncopied"))
    other.create()
    file = Path(file_of(mirror))
    text = file.read_text().replace(f"['{mirror.topic}']", f"['{mirror.topic}', '{other.topic}']")
    file.write_text(text)
    code, told = asked(capsys, str(file))
    verdicts = {each["topic"]: (each["verdict"], each["why"]) for each in told["partitions"]}
    assert code == 3
    assert verdicts == {mirror.topic: ("equal", ""), other.topic: ("left out", "never copied")}


@pytest.mark.broker
def test_a_topic_that_was_made_again_is_left_out(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    with TargetLog(mirror.target, mirror.topic) as log:
        log.make_again(2)
    code, told = asked(capsys, file_of(mirror))
    why = "the topic was deleted and created again at the target since it was copied"
    assert code == 3
    assert [each["why"] for each in told["partitions"]] == [why, why]


@pytest.mark.broker
@pytest.mark.spark
def test_copies_are_compared_under_the_names_that_they_have(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(file_of(mirror))
    text = file.read_text()
    for rename in ("new.{topic}", f"{'n' * 245}.{{topic}}"):
        file.write_text(text.replace("topics: {", f"topics: {{rename: '{rename}', "))
        code, told = asked(capsys, str(file), "--sample")
        assert (code, [each["verdict"] for each in told["partitions"]]) == (0, ["equal", "equal"])


def test_a_cluster_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = ports.reserve(2)
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '127.0.0.1:{one}', request_timeout: 1s}}\n"
        f"target: {{bootstrap: '127.0.0.1:{other}', request_timeout: 1s}}\n"
        "link: nowhere\ntopics: {include: ['.*']}\n"
    )
    assert main(["verify", str(file)]) == 4
    assert capsys.readouterr().err.startswith("source: ")


@pytest.mark.parametrize("first", ["yesterday", "2025-01-31", "-5"])
def test_a_beginning_that_is_none(first: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "any.yaml", f"--from={first}"]) == 2
    assert capsys.readouterr().err == (
        f"--from: {first!r} is not an offset, or a time with its zone such as"
        " 2025-01-31T08:00:00Z\n"
    )


def test_a_report_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "missing"
    assert main(["verify", "any.yaml", "--report", str(folder / "report.json")]) == 2
    assert capsys.readouterr().err == f"--report: the folder {folder} does not exist\n"


@pytest.mark.parametrize("master", ["nonsense", "local[", "local[x]", "spark:/host", ""])
@pytest.mark.parametrize("command", ["run", "verify"])
def test_a_master_that_is_none(
    command: str, master: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "any.yaml", "--master", master]) == 2
    assert capsys.readouterr().err == (
        f"--master: {master!r} is not a Spark master; name one such as local[4], spark://host:7077,"
        " yarn or k8s://https://host:443\n"
    )


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2,3]", "spark://a:7077,b:7077", "yarn", "k8s://https://h"],
)
def test_masters_that_spark_knows(master: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "missing.yaml", "--master", master]) == 2
    assert "missing.yaml" in capsys.readouterr().err


@pytest.mark.broker
@pytest.mark.spark
def test_ctrl_c_ends_it_though_a_broker_is_silent(
    tmp_path: Path,
    source: LocalCluster,
    lone: LocalCluster,
    new_name: NewName,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mirror = Mirror(tmp_path, source, lone, new_name("silent"), timeout="60s")
    mirror.create(2)
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v", partition=i) for i in range(2)])
    mirror.catch_up()
    asked: list[float] = []

    def interrupt() -> None:
        asked.append(time.monotonic())
        press_ctrl_c()

    def verify() -> Ended:
        return here.on_spark("verify", file_of(mirror))

    ended = frozen_while_comparing(lone, verify, monkeypatch, interrupt)
    [began] = asked
    assert time.monotonic() - began < 50, "request_timeout is 60 s, and there are four attempts"
    assert ended.code == 3, ended.said
    assert ended.err.endswith(
        "stopped: not everything was compared, so nothing is proven; compare again, from the"
        " start\n"
    )


def test_the_old_name_of_from_is_hidden_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "any.yaml", "--since", "-5"]) == 2
    told = capsys.readouterr().err
    assert (
        "note: --since of `towpath verify` is called --from now; the old name still works" in told
    )
    assert "--from: '-5' is not an offset" in told
    assert main(["verify", "any.yaml", "--since", "5", "--from", "6"]) == 2
    assert capsys.readouterr().err == "--since: is called --from now; give only --from\n"
    assert main(["verify", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--from" in shown
    assert "--since" not in shown
