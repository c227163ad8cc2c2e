"""What somebody did by hand meanwhile is seen, and mended before anything else is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, entries, run_until
from tests.support.kraft.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.runtime.deadline import Deadline

pytestmark = [pytest.mark.soak, pytest.mark.broker]


def put_back(lab: ZooKeeperCluster, broker: int, file: bytes) -> None:
    """Restart a broker by hand with another file, as if the migration was not known."""
    lab.process(broker).stop(Deadline.after(60))
    lab.files.properties(broker).write_bytes(file)
    lab.process(broker).start(lab.command(broker))


def test_brokers_that_were_put_back_are_brought_on(tmp_path: Path, here: Here) -> None:
    with ZooKeeperCluster(2, 1, home=tmp_path) as lab:
        seed(lab)
        plain = lab.files.properties(2).read_bytes()
        run_until(lab, "run", lambda entry: entry.get("stage") == "hybrid")
        migrating = lab.files.properties(2).read_bytes()
        assert b"zookeeper.metadata.migration.enable" in migrating
        put_back(lab, 2, plain)  # controllers fence such a broker, and it knows no topic
        done = here(*arguments(lab, "run"))
        assert done.code == 0, done.said
        with Traffic(lab) as traffic:
            before = len(entries(lab))
            put_back(lab, 2, migrating)  # finalized now, it would be stranded
            lab.wait(2)
            done = here(*arguments(lab, "finalize"))
            assert done.code == 0, done.said
            traffic.flowing()
    made = [each["what"] for each in entries(lab)[before:] if each["event"] == "step_done"]
    assert made.index("restart broker 2 in KRaft mode") < next(
        number for number, what in enumerate(made) if "controller 3000" in what
    )
    assert traffic.result().lost == traffic.result().doubled == 0
