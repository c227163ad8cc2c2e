"""A Streams application that was closed holds its group for a while: a failover waits for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import standing
from tests.support.copying.quarantine import begin
from tests.support.here import Here
from tests.support.kafka import Record, commit, produce
from tests.support.messages import closed_streams
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.mirror.failover.failover import failover
from towpath.mirror.failover.request import FailoverRequest
from towpath.mirror.failover.state_before_failover import FailoverScope
from towpath.model.nouns import Side
from towpath.model.reasons import ReasonCode


@pytest.mark.broker
@pytest.mark.soak
def test_a_failover_waits_for_a_closed_streams_application_and_says_so(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    """Somebody tried the application on the target; its member stays for 15 s behind its end."""
    mirror = Mirror(tmp_path, source, target, new_name("streams"), sections="groups: {}\n")
    mirror.create()
    app = f"{mirror.topic}-app"
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"%d" % n) for n in range(10)])
    commit(source.bootstrap, app, mirror.topic, 0, 5)
    begin(mirror)
    file = str(tmp_path / f"{mirror.config.link}.yaml")
    with Admin(mirror.config.target, Side.TARGET) as admin:
        closed_streams(admin, app, mirror.topic)
    rehearsed = here("failover", file, "--dry-run")
    assert rehearsed.code == 3
    note = "failover waits until closed Streams applications have left their groups, for 1m 00s"
    assert note in " ".join(rehearsed.said.split())
    plan = here("failover", file, "--dry-run", "-o", "json").json["plan"]
    assert [each["reason"]["code"] for each in plan["positions"]] == [ReasonCode.GROUP_HELD]

    told: list[str] = []
    asked = FailoverRequest(
        scope=FailoverScope(),
        agreed=lambda _: True,
        told=lambda what, _done, _of: told.append(what),
    )
    done = failover(mirror.config, asked)
    assert (done.done, done.missing) == (True, [])
    assert f"waiting for the session timeout of closed Streams applications: {app}" in told
    assert standing(target, app, mirror.topic) == (5, "")
