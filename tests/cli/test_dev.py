"""`towpath dev`, with real brokers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from towpath.cli.main import main
from towpath.dev import ports, updown


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    updown.down(tmp_path)


def result(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    clusters: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["clusters"]
    return clusters


@pytest.mark.broker
def test_a_pair_goes_up_and_down(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = ports.reserve(2)
    where = ["--home", str(home)]
    up = ["dev", "up", *where, "--source-port", str(source), "--target-port", str(target)]

    assert main([*up, "--output", "json"]) == 0
    started = result(capsys)
    assert [(each["side"], each["bootstrap"], each["running"]) for each in started] == [
        ("source", f"127.0.0.1:{source}", True),
        ("target", f"127.0.0.1:{target}", True),
    ]
    for port in (source, target):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()

    assert main(up) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["side", "bootstrap", "kafka", "state", "pid"]
    assert [line[-2:] for line in lines[2:]] == [["running", str(each["pid"])] for each in started]

    assert main(["dev", "down", *where, "--output", "json"]) == 0
    stopped = result(capsys)
    assert [each["pid"] for each in stopped] == [each["pid"] for each in started]
    assert not any(each["running"] for each in stopped)


def test_nothing_to_stop(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "down", "--home", str(home)]) == 0
    assert capsys.readouterr().out == "nothing runs\n"


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
