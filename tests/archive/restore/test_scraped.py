"""What `towpath restore run --follow` serves while it restores, as Prometheus would get it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.kafka import wait_until
from tests.support.pages.scrape import Scrape
from tests.support.program import START, Program
from towpath.archive.metrics import restore_names
from towpath.dev import ports
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.soak]
LONG = 3 * START
NOT_HERE = "sqs_"
"""Of a queue, which this restore has not (`archive/restore/test_waking.py`)."""
SOMETIMES = {"towpath_restore_eta_seconds"}
"""Has no series once nothing is left."""


def test_each_metric_is_there_and_moves(
    tmp_path: Path, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    topic = new_name("orders")
    (port,) = ports.reserve(1)
    listen = {"metrics": {"listen": f"127.0.0.1:{port}"}}
    stored = StoredArchive(tmp_path, new_name("shop"), target.bootstrap, listen)
    records = old_records(40)
    stored.put(topic, records, cuts=[10], end=20)
    file = stored.file(
        follow={"look": "200ms", "silence": "1h"},
        late={"looks": 4, "timeout": "20s"},
        lost="skip",
        receipts="100ms",
        retention="archived",
    )
    words = "restore", "run", str(file), "--follow"
    run = Program(tmp_path, *words, name="scraped")
    place = {"region": stored.region, "source": "", "topic": topic, "partition": "0"}

    def told(name: str) -> float | None:
        try:
            return Scrape(f"127.0.0.1:{port}").get(name, **place)
        except URLError:
            assert run.running, run.said
            return None

    try:
        wait_until(lambda: told("ingress_checkpoint") == 19, "all is restored", LONG)
        wait_until(lambda: told("ingress_segments_read_total") == 2, "both segments", LONG)
        got = Scrape(f"127.0.0.1:{port}")
        served = {each.name for each in got.families}
        wanted = {each.name.removesuffix("_total") for each in restore_names.ALL}
        assert {each for each in wanted - served if not each.startswith(NOT_HERE)} <= SOMETIMES
        assert told("ingress_messages_produced_total") == 20
        assert told("towpath_restored_to") == 20
        for name in ("ingress_segments_waiting", "ingress_lag_seconds", "ingress_segments_late",
                     "ingress_segments_lost", "ingress_messages_lost"):  # fmt: skip
            assert told(name) == 0, name
        # A part that is missing is late, its lag grows meanwhile, and then it is lost.
        (gone,) = stored.put(topic, records[20:30])
        stored.path(gone).unlink()
        wait_until(lambda: told("ingress_segments_late") == 1, "a part is late", LONG)
        assert told("ingress_segments_waiting") == 1
        assert (told("ingress_lag_seconds") or 0) > 0
        wait_until(lambda: told("ingress_messages_lost") == 10, "it is lost", LONG)
        assert told("ingress_segments_lost") == 1
        wait_until(lambda: told("ingress_segments_late") == 0, "nothing is late", LONG)
        stored.put(topic, records[30:])
        wait_until(lambda: told("ingress_checkpoint") == 39, "the rest is restored", LONG)
        wait_until(lambda: told("ingress_messages_produced_total") == 30, "as often", LONG)
        assert run.stop() == 3, run.said
    except AssertionError as error:
        raise AssertionError(f"{error}: {run.said}") from error
    finally:
        run.close()
