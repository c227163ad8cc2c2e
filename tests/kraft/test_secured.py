"""Clusters that ask for logins and certificates everywhere go there, back, and for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kraft import secured_labs
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, entries
from tests.support.kraft.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.facts.image import ImageKind

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("secure", [secured_labs.with_logins, secured_labs.with_certificates])
def test_a_secured_cluster_goes_the_whole_way(
    tmp_path: Path,
    here: Here,
    secure: Callable[[ZooKeeperCluster], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if secure is secured_labs.with_logins:
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", secured_labs.jaas(tmp_path / "lab"))
    lab = ZooKeeperCluster(2, 1, home=tmp_path / "lab")
    try:
        secure(lab)
        seed(lab)
        checked = here("kraft", "check", str(lab.config))
        assert checked.code == 0, checked.said
        with Traffic(lab) as traffic:
            for command in "run", "rollback", "run", "finalize":
                ended = here(*arguments(lab, command))
                assert ended.code == 0, ended.said
                traffic.flowing()
    finally:
        lab.stop(hard=True)
    told = traffic.result()
    assert told.whole, told
    compared = [each for each in entries(lab) if each["event"] == "compared"]
    assert all(each["equal"] for each in compared)
    assert compared[-1]["compared"][ImageKind.ACLS] >= 7
