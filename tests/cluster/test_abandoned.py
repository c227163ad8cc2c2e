"""A cluster whose answers nobody needs any more."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.support.kafka import wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.connect.connection import Connected
from towpath.cluster.connect.pool import ConnectionPool
from towpath.cluster.connect.throttling import Throttling
from towpath.dev.broker import LocalCluster
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Side
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig


def test_a_connection_that_is_lent_after_all_were_abandoned_is_broken_off() -> None:
    """The caller looked before, and would have waited for its whole request timeout."""
    ours, theirs = socket.socketpair()
    made = Connected(ours, None, {})
    pool = ConnectionPool(lambda _address, _deadline: made, Throttling(Side.SOURCE))
    pool.abandon()
    with theirs, pool.lend(("127.0.0.1", 1), Deadline.after(5)) as lent:
        lent.socket.settimeout(5)
        assert lent.socket.recv(1) == b""
    pool.close()


@pytest.mark.broker
def test_calls_end_at_once_that_a_frozen_broker_does_not_answer(lone: LocalCluster) -> None:
    where = ClusterConfig.model_validate({"bootstrap": lone.bootstrap, "request_timeout": "5m"})
    said: list[str] = []
    with Admin(where, Side.SOURCE) as admin:
        admin.cluster.id()

        def ask() -> None:
            try:
                admin.cluster.pulse(300.0)
            except UnreachableError as error:
                said.append(str(error))

        lone.pause(1)
        try:
            asking = threading.Thread(target=ask, daemon=True)
            asking.start()
            wait_until(lambda: admin.answering.silence() is not None, "the broker is asked")
            admin.abandon()
            asking.join(20)
            assert len(said) == 1
            with pytest.raises(UnreachableError, match="of no use"):
                admin.cluster.id()
        finally:
            lone.resume(1)
