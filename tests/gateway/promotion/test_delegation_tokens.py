"""Clients that log in by a delegation token are named before a promotion and refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.clients.gateways import served
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_java import MovingClient
from tests.support.clusters.secured_moves import SecuredMove, admit
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import end
from towpath.dev import distribution
from towpath.engine import java

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
PROGRAM = Path(__file__).parents[2] / "support" / "java" / "Token.java"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def token_of(configs: dict[str, str]) -> tuple[str, str]:
    """Return id and HMAC of a new delegation token of who logs in so."""
    line = [str(java.find()), "-Xmx64m", "-cp", f"{distribution.fetch()}/*", str(PROGRAM)]
    line += [f"{key}={value}" for key, value in configs.items()]
    made = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    number, secret = made.stdout.split()
    return number, secret


@pytest.mark.timeout(600)
def test_a_login_by_token_is_named_and_refused(move: SecuredMove, here: Here) -> None:
    link, user = move, f"{move.name}-app"
    for cluster in (link.source, link.target):
        admit(cluster, user, link.name)
    topic = create_topic(link.source.back_door, f"{link.name}.a", PARTITIONS)
    run, secured = link.run_inside(), link.java_client(user)
    gateway = served(link)
    # Tokens are asked of the source itself: the gateway does not offer requests for them.
    direct = link.source.through("SECURED").bootstrap  # type: ignore[attr-defined]
    number, secret = token_of({**secured, "bootstrap.servers": direct})
    login = f'{MODULE} required username="{number}" password="{secret}" tokenauth="true";'
    writer = MovingClient(
        link.folder, "4.4.0", "write", "0", topic, {**secured, "sasl.jaas.config": login}
    )
    try:
        writer.start(link.bootstrap)
        wait_until(
            lambda: end(link.target, topic) > 20, lambda: f"copied: {run.said} {gateway.said}", 240
        )
        told = here("promote", str(link.file), "--dry-run", "-o", "json").json
        refused = here("promote", str(link.file), "-o", "json").json
        writer.stop()
    finally:
        writer.kill()
    assert writer.failures == []
    assert any(f"delegation token {number}" in each for each in told["told"]), told
    (why,) = refused["reasons"]
    assert why["code"] == "PROMOTE_LOGIN"
    assert f"delegation token {number}" in why["text"]
    assert secret not in f"{told}{refused}{gateway.said}"
