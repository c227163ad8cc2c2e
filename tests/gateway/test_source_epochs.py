"""Clients of a gateway read from a source whose leaders have changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from tests.support.program import Program
from towpath.dev import ports
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker


def test_leader_epochs_of_the_source_hinder_nobody(
    target: SharedCluster, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    """Librdkafka sends epoch 0 where it is told none."""
    listen, node = (f"127.0.0.1:{port}" for port in ports.reserve(2))
    name, topic = new_name("epochs"), "t"
    with LocalCluster(home=tmp_path / "source") as source:
        create_topic(source.bootstrap, topic, 1)
        source.kill9(1)
        source.restart(1)
        file = tmp_path / "link.yaml"
        file.write_text(
            f"source: {{bootstrap: '{source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{target.bootstrap}'}}\n"
            f"link: {name}\ntopics: {{include: ['{topic}']}}\n"
            f"gateway: {{listen: '{listen}', nodes: {{1: '{node}'}}}}\n"
        )
        program = Program(tmp_path, "gateway", str(file), name="gateway")
        try:
            wait_until(
                lambda: "listening on" in program.said, lambda: f"it listens: {program.said}", 60
            )
            records = [Record(b"k", b"%d" % number) for number in range(100)]
            produce(listen, topic, records, {"enable.idempotence": True})
            assert len(consume(listen, topic, [0])) == 100
            assert end_offsets(listen, topic, 0) == (0, 100)
        finally:
            program.stop()
            assert program.wait() == 0, program.said
