"""A cluster whose answers nobody needs any more."""

from __future__ import annotations

import threading

import pytest

from tests.support.kafka import wait_until
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Side
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker


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
