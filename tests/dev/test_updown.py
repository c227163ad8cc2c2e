"""`up` starts what is missing, `down` stops only what `up` started."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import consume, end_offsets, raw_batches, wait_until
from towpath.dev import ports, updown
from towpath.dev.errors import PortTakenError
from towpath.dev.load import SHAPES, load
from towpath.dev.process import Identity
from towpath.model.nouns import Side

pytestmark = pytest.mark.broker


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    updown.down(tmp_path)


def test_up_twice_and_down_twice(home: Path) -> None:
    source_port, target_port = ports.reserve(2)
    first = updown.up(home, source_port=source_port, target_port=target_port)
    assert [each.side for each in first] == [Side.SOURCE, Side.TARGET]
    assert [each.bootstrap for each in first] == [
        f"127.0.0.1:{source_port}",
        f"127.0.0.1:{target_port}",
    ]
    assert updown.up(home, source_port=source_port, target_port=target_port) == first
    assert updown.down(home) == first
    assert ports.is_free(source_port)
    assert ports.is_free(target_port)
    assert updown.down(home) == ()
    assert updown.running(home) == ()


def test_a_taken_port_leaves_what_already_runs_to_down(home: Path) -> None:
    source_port, target_port = ports.reserve(2)
    with socket.create_server(("127.0.0.1", target_port)):
        with pytest.raises(PortTakenError, match=f"port {target_port} on 127.0.0.1 is taken"):
            updown.up(home, source_port=source_port, target_port=target_port)
        told: list[str] = []
        clusters = updown.up(
            home,
            source_port=source_port,
            target_port=target_port,
            elsewhere=True,
            tell=told.append,
        )
    assert clusters[0].bootstrap == f"127.0.0.1:{source_port}"
    assert clusters[1].bootstrap != f"127.0.0.1:{target_port}"
    assert told[0].startswith(f"Port {target_port} is taken")
    assert [each.side for each in updown.down(home)] == [Side.SOURCE, Side.TARGET]


def test_a_recycled_pid_is_never_stopped(home: Path) -> None:
    """The file names a living process that started at another time than it says."""
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with bystander:
        known = Identity.of(bystander.pid)
        assert known.process() is not None
        fact = {
            "side": "source",
            "bootstrap": "127.0.0.1:9092",
            "version": "4.3.1",
            "process": {"pid": known.pid, "started": known.started - 60},
        }
        (home / "running.json").write_text(json.dumps([fact]))
        assert updown.down(home) == ()
        assert bystander.poll() is None
        bystander.communicate(b"\n")


def test_the_demo_data_hold_every_kind_of_trouble(home: Path) -> None:
    source_port, target_port = ports.reserve(2)
    source = updown.up(home, source_port=source_port, target_port=target_port)[0].bootstrap
    loaded = load(source, scale=0.3)
    assert [each.topic for each in loaded] == [each.topic for each in SHAPES]

    codecs = {
        topic: raw_batches(source, topic, offset=end_offsets(source, topic)[0])[22] & 7
        for topic in ("customers", "clicks", "clicks.archive", "orders", "payments")
    }
    assert codecs == {
        "customers": 0,
        "clicks": 1,
        "clicks.archive": 2,
        "orders": 3,
        "payments": 4,
    }
    assert end_offsets(source, "clicks.archive")[0] > 0

    orders = consume(source, "orders", range(8))
    assert len(orders) == 30_000
    assert {name for name, _ in orders[0].headers} == {"trace-id", "schema"}

    committed = consume(source, "payments", range(4))
    everything = consume(source, "payments", range(4), isolation="read_uncommitted")
    written = next(each.records for each in loaded if each.topic == "payments")
    assert len(committed) == written < len(everything) == 6_000

    def holes() -> bool:
        offsets = [r.offset for r in consume(source, "customers")]
        return offsets[-1] - offsets[0] + 1 > len(offsets)

    wait_until(holes, "the cleaner made holes in customers")
    assert None in {r.value for r in consume(source, "customers", (0, 1))}
