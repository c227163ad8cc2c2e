"""`towpath run` and what it says at its end, where something had to be left out."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, delete_before, produce
from tests.support.links import a_run_elsewhere
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.cli.options import write_report
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.model.errors import ConfigError

NewName = Callable[[str], str]


@pytest.mark.broker
@pytest.mark.spark
def test_what_is_left_out_is_named_and_the_rest_goes_on(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    name = new_name("left")
    kinds = ("lost", "again", "gone", "well")
    topics = {kind: f"{name}-{kind}" for kind in kinds}
    mirror = Mirror(tmp_path, source, target, f"{name}-.*", link=name)
    for topic in topics.values():
        for cluster in (source, target):
            create_topic(cluster.bootstrap, topic)
        produce(source.bootstrap, topic, [Record(None, b"1")] * 10)
    mirror.catch_up()
    for topic in topics.values():
        produce(source.bootstrap, topic, [Record(None, b"2")] * 10)
    delete_before(source.bootstrap, topics["lost"], 15)
    delete_topic(source.bootstrap, topics["again"])
    create_topic(source.bootstrap, topics["again"])
    delete_topic(target.bootstrap, topics["gone"])
    report = tmp_path / "report.json"
    run = here.run(str(tmp_path / f"{name}.yaml"), "--until-caught-up", "--report", str(report))
    assert run.code == 3, run.said
    told = json.loads(report.read_text())
    assert (told["complete"], told["stopped"]) == (False, False)
    again, lost = told["left_out"]
    assert again == (
        f"{topics['again']}-0: source: the topic was deleted and created again at the source;"
        f" `towpath restart FILE --topics {topics['again']}` copies the new one"
    )
    assert lost.startswith(
        f"{topics['lost']}-0: offsets 10 to 14 were not copied: DeleteRecords removed them at"
    )
    said = " ".join(run.said.split())
    assert (
        f"{topics['lost']}-0: offsets 10 to 14 were not copied: DeleteRecords removed them at"
        in said
    )
    assert "the topic was deleted and created again at the source" in said
    for kind in ("gone", "well"):
        assert len(consume(target.bootstrap, topics[kind])) == 20


@pytest.mark.broker
@pytest.mark.spark
def test_a_second_run_of_a_link_is_refused(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("busy"))
    mirror.create()
    mirror.slices()  # makes the ledger
    file = tmp_path / f"{mirror.topic}.yaml"
    with a_run_elsewhere(file):
        second = here.run(str(file))
    assert second.code == 4, second.said
    assert f"link {mirror.topic} is already running" in second.said
    assert "to run it here instead, stop that run first" in second.said
    assert "another `link` name" not in second.said


@pytest.mark.spark
@pytest.mark.parametrize("command", ["run", "status"])
def test_a_cluster_that_does_not_answer(tmp_path: Path, command: str, here: Here) -> None:
    file = str(nowhere(tmp_path))
    ended = here.run(file, "--no-wait") if command == "run" else here(command, file)
    assert ended.code == 4
    assert "connecting to 127.0.0.1:" in ended.err
    assert "nothing listens there; check the port, and whether the broker runs" in ended.err


@pytest.mark.spark
def test_a_port_of_the_metrics_that_is_taken(tmp_path: Path, here: Here) -> None:
    """It is told before any cluster is asked: these do not answer."""
    file = nowhere(tmp_path)
    [port] = ports.reserve(1)
    with socket.create_server(("127.0.0.1", port)):
        file.write_text(file.read_text() + f"metrics: {{listen: '127.0.0.1:{port}'}}\n")
        ended = here.run(str(file))
    assert ended.code == 2, ended.said
    assert ended.err.startswith(
        f"metrics.listen: cannot listen on 127.0.0.1, port {port}: the port is taken; stop what"
    )


def nowhere(folder: Path) -> Path:
    file = folder / "nowhere.yaml"
    file.write_text(
        "source: {bootstrap: '127.0.0.1:9', request_timeout: 1s}\n"
        "target: {bootstrap: '127.0.0.1:19', request_timeout: 1s}\n"
        "link: nowhere\ntopics: {include: ['x']}\n"
    )
    return file


def test_a_report_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "missing" / "report.json"
    assert main(["run", str(nowhere(tmp_path)), "--report", str(report)]) == 2
    assert f"--report: the folder {report.parent} does not exist" in capsys.readouterr().err


def test_a_report_that_is_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(nowhere(tmp_path)), "--report", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"--report: {tmp_path} is a folder; name a file in it\n"


def test_a_report_whose_folder_has_gone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"report\.json cannot be written: No such file"):
        write_report(tmp_path / "gone" / "report.json", {})
