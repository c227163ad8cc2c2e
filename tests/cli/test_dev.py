"""`towpath dev`, with real brokers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import MASTER, Here
from tests.support.kafka import consume, end_offsets, raw_batches, wait_until
from towpath.cli.main import main
from towpath.cluster.admin import Admin
from towpath.dev import distribution, ports, updown
from towpath.dev.load import SHAPES, load
from towpath.dev.secure import client_options
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.settings import load as config_of


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    updown.down(tmp_path)


def result(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    clusters: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["clusters"]
    return clusters


@pytest.mark.soak  # docs/test_begin.py plays both in each run
@pytest.mark.broker
def test_a_pair_goes_up_and_down(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From a port that is taken to the second `down`, with the data of the demo between."""
    source, target = ports.reserve(2)
    where = ["--home", str(home)]
    up = ["dev", "up", *where, "--source-port", str(source), "--target-port", str(target)]
    with socket.create_server(("127.0.0.1", target)):
        assert main(up) == 2
        assert f"port {target} on 127.0.0.1 is taken" in capsys.readouterr().err
        [alone] = updown.running(home)
        assert main([*up, "--elsewhere", "--output", "json"]) == 0
    shown = capsys.readouterr()
    started = json.loads(shown.out)["clusters"]
    assert f"Port {target} is taken" in shown.err
    assert [(each["side"], each["running"]) for each in started] == [
        ("source", True), ("target", True),
    ]  # fmt: skip
    assert (started[0]["bootstrap"], started[0]["pid"]) == (
        f"127.0.0.1:{source}", alone.process.pid,
    )  # fmt: skip
    elsewhere = int(started[1]["bootstrap"].rpartition(":")[2])
    assert elsewhere != target

    assert main(up) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["side", "bootstrap", "kafka", "login", "state", "pid"]
    assert [line[-2:] for line in lines[2:]] == [["running", str(each["pid"])] for each in started]

    assert main([*up[:-1], "9", "--kafka", "3.9.2"]) == 0
    assert (
        f"The target runs already, with Kafka {distribution.NEWEST} on 127.0.0.1:{elsewhere};"
        " port 9 and Kafka 3.9.2 not used. To change that, run `towpath dev down` first."
    ) in capsys.readouterr().err

    _the_demo_data_hold_every_kind_of_trouble(started[0]["bootstrap"])
    assert main(["dev", "down", *where, "--output", "json"]) == 0
    stopped = result(capsys)
    assert [each["pid"] for each in stopped] == [each["pid"] for each in started]
    assert not any(each["running"] for each in stopped)
    assert ports.is_free(source)
    assert ports.is_free(elsewhere)
    assert len(updown.data(home)) == 2  # kept
    assert main(["dev", "down", *where]) == 0
    assert capsys.readouterr().out == "nothing runs\n"


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.spark
def test_a_secured_pair_mirrors_at_once_with_the_rights_of_a_link(home: Path, here: Here) -> None:
    source, target = map(str, ports.reserve(2))
    where = ["--home", str(home)]
    up = ["dev", "up", "--secure", *where, "--source-port", source, "--target-port", target]
    started = here(*up, "-o", "json")
    assert started.code == 0, started.said
    assert [each["secure"] for each in started.json["clusters"]] == [True, True]
    link = started.json["link"]
    assert link == str(home / "secure" / "link.yaml")
    assert here("dev", "up", *where).code == 2

    bootstrap = started.json["clusters"][0]["bootstrap"]
    login = client_options(home / "secure" / "source-admin.properties")
    load(bootstrap, scale=0.01, login=login)
    plan = here("plan", link, "-o", "json")
    assert plan.code == 0, plan.said
    assert not any("ACL" in str(note) or "right" in str(note) for note in plan.json["notes"])
    assert (ran := here.run(link, "--until-caught-up")).code == 0, ran.said
    assert (proof := here("verify", link, *MASTER)).code == 0, proof.said
    assert "19 equal of 19 partitions" in proof.said

    with Admin(config_of(Path(link)).source, Side.SOURCE) as admin, pytest.raises(RefusedError):
        admin.topics.delete(TopicName("orders"), TopicId(""))
    shown = here("dev", "status", *where)
    assert shown.said.count("TLS, SCRAM-SHA-512") == 2
    assert f"begin with `towpath plan {link}`" in shown.said
    stopped = here("dev", "down", *where)
    assert (stopped.code, "begin with" in stopped.said) == (0, False)
    assert here("dev", "status", *where).out == "nothing runs\n"


def _the_demo_data_hold_every_kind_of_trouble(source: str) -> None:
    loaded = load(source, scale=0.2)
    assert [each.topic for each in loaded] == [each.topic for each in SHAPES]
    codecs = {
        topic: raw_batches(source, topic, offset=end_offsets(source, topic)[0])[22] & 7
        for topic in ("customers", "clicks", "clicks.archive", "orders", "payments")
    }
    assert codecs == {
        "customers": 0, "clicks": 1, "clicks.archive": 2, "orders": 3, "payments": 4,
    }  # fmt: skip
    assert end_offsets(source, "clicks.archive")[0] > 0

    orders = consume(source, "orders", range(8))
    assert len(orders) == 20_000
    assert {name for name, _ in orders[0].headers} == {"trace-id", "schema"}

    committed = consume(source, "payments", range(4))
    everything = consume(source, "payments", range(4), isolation="read_uncommitted")
    written = next(each.records for each in loaded if each.topic == "payments")
    assert len(committed) == written < len(everything) == 4_000

    def holes() -> bool:
        offsets = [r.offset for r in consume(source, "customers")]
        return offsets[-1] - offsets[0] + 1 > len(offsets)

    wait_until(holes, "the cleaner made holes in customers")
    assert None in {r.value for r in consume(source, "customers", (0, 1))}


def test_a_taken_port_is_told_and_nothing_stays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        (port,) = ports.reserve(1)
        holder.bind(("127.0.0.1", port))
        holder.listen()
        assert main(["dev", "up", "--home", str(home), "--source-port", str(port)]) == 2
    assert f"port {port} on 127.0.0.1 is taken" in capsys.readouterr().err
    assert updown.running(home) == ()


def test_one_port_for_both_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ["--source-port", "9092", "--target-port", "9092"]
    assert main(["dev", "up", "--home", str(home), *both]) == 2
    assert capsys.readouterr().err == (
        "--target-port: is 9092, the port of the source; each needs its own\n"
    )
