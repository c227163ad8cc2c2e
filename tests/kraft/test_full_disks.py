"""Disks that are full: a step fails with a sentence, nothing is half done, all goes on later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.small_disks import SmallDisk, mounted
from tests.support.here import Here
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments
from tests.support.kraft.secured_labs import in_file, restart
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.journal import KraftEvent, KraftJournal

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]
_SIZE = 64 << 20


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[dict[str, SmallDisk]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(mounted(tmp_path / "disks" / name, _SIZE))
            for name in ("controller", "broker", "journal")
        }


def test_full_disks_stop_a_step_and_lose_nothing(
    tmp_path: Path, disks: dict[str, SmallDisk], here: Here
) -> None:
    lab = ZooKeeperCluster(1, 1, home=tmp_path / "lab")

    def change(told: dict[str, Any]) -> None:
        told["controllers"]["nodes"][0]["data"] = str(disks["controller"].folder / "data")
        told["journal"] = str(disks["journal"].folder / "journal")
        told["limits"]["start"] = "60s"

    try:
        lab.start()
        seed(lab)
        restart(lab, lambda *_: {"metadata.log.dir": str(disks["broker"].folder / "metadata")})
        in_file(lab, change)
        file = lab.files.properties(1)
        before, started = file.read_bytes(), lab.process(1).started
        for name, code in (("journal", "KRAFT_JOURNAL"), ("controller", "KRAFT_DRIVER")):
            disks[name].fill()
            ended = here(*arguments(lab, "run"), "--output", "json")
            assert ended.code == 4, ended.said
            assert code in ended.said
            assert (file.read_bytes(), lab.process(1).started) == (before, started)
            assert not lab.process(lab.controllers[0]).running
            disks[name].free()
        disks["broker"].fill()
        ended = here(*arguments(lab, "run"))
        assert ended.code == 4, ended.said
        disks["broker"].free()
        for command in "run", "rollback", "run", "finalize":
            ended = here(*arguments(lab, command))
            assert ended.code == 0, ended.said
    finally:
        lab.stop(hard=True)
    written = KraftJournal(disks["journal"].folder / "journal").entries()
    compared = [each.facts["equal"] for each in written if each.event is KraftEvent.COMPARED]
    assert compared
    assert all(compared)
