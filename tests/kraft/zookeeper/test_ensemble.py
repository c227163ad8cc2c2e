"""What servers tell of themselves."""

from __future__ import annotations

import pytest

from towpath.kraft.facts.servers import EnsembleSeen, ServerMode, ServerSeen
from towpath.kraft.zookeeper.ensemble import server

SRVR = """Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on 2024-02-12
Latency min/avg/max: 0/0.6667/3
Received: 10
Sent: 9
Connections: 1
Outstanding: 2
Zxid: 0x100000004
Mode: follower
Node count: 5
"""


def test_a_server_that_serves_tells_what_it_is() -> None:
    assert server("a:2181", SRVR) == ServerSeen("a:2181", ServerMode.FOLLOWER, "3.8.4", 2, "")


@pytest.mark.parametrize(
    "told",
    [
        "This ZooKeeper instance is not currently serving requests\n",
        "srvr is not executed because it is not in the whitelist.\n",
    ],
)
def test_a_server_that_does_not_tells_why(told: str) -> None:
    assert server("a:2181", told) == ServerSeen("a:2181", None, "", None, told.strip())


def test_a_silent_server_is_named() -> None:
    assert "without an answer" in server("a:2181", "").why


@pytest.mark.parametrize(
    ("modes", "voters", "spare"),
    [
        (["leader", "follower", "follower"], 3, 1),
        (["leader", "follower", None], 3, 0),
        (["leader", "follower", None], None, 0),
        (["standalone"], None, 0),
        (["leader", "follower", "follower", "follower", "follower", "observer"], 5, 2),
        ([None], None, 0),
    ],
)
def test_how_many_more_may_fail(modes: list[str | None], voters: int | None, spare: int) -> None:
    servers = tuple(
        ServerSeen(f"{place}:1", ServerMode(mode) if mode else None, "", None, "")
        for place, mode in enumerate(modes)
    )
    assert EnsembleSeen(servers, voters).spare == spare
