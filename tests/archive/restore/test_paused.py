"""A restore whose driver was paused goes on, as its slices end when they hear nothing of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.kafka import consume, wait_until
from tests.support.program import Program
from towpath.dev.broker import LocalCluster
from towpath.records.watch import ORPHANED

pytestmark = [pytest.mark.broker, pytest.mark.soak]


def test_a_restore_goes_on_after_a_pause_of_its_driver(
    tmp_path: Path, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    """The last part is whole again while the driver is paused, and nobody would write it."""
    topic = new_name("orders")
    stored = StoredArchive(tmp_path, new_name("shop"), target.bootstrap)
    records = old_records(20)
    _, last = stored.put(topic, records, cuts=[10])
    place = stored.path(last)
    whole = place.read_bytes()
    place.write_bytes(bytes(len(whole)))
    file = stored.file(late={"looks": 50, "timeout": "1h"}, receipts="100ms", retention="archived")
    words = "restore", "run", str(file), "--output", "json"
    run = Program(tmp_path, *words, name="paused")
    try:
        wait_until(lambda: "waits for a part" in run.said or not run.running, "it is late", 120)
        assert run.running, run.said
        run.send(signal.SIGSTOP)
        time.sleep(ORPHANED + 15)
        place.write_bytes(whole)
        run.send(signal.SIGCONT)
        assert run.wait(240) == 0, run.said
    finally:
        run.close()
    assert run.json["complete"], run.said
    assert [each.offset for each in consume(target.bootstrap, topic)] == [*range(20)]
