"""Copying where brokers cannot be reached, or not as we come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.copying.copier import BackDoor, copier, endless, going
from tests.support.kafka import Record, produce, wait_until
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.ledger import Ledger
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.secret import Secret
from towpath.records import copy as copying
from towpath.records.copy import Copier
from towpath.records.work import CopySlice
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


def secured(cluster: LocalCluster, vault: Vault, password: Secret | None = None) -> ClusterConfig:
    sasl = {"mechanism": "SCRAM-SHA-512", "username": "admin"}
    secret = {"password": password or USERS["admin"]}
    tls = {"ca": str(vault.ca)}
    return ClusterConfig(bootstrap=cluster.addresses, tls=tls, sasl=sasl | secret)


@pytest.mark.parametrize("side", [Side.SOURCE, Side.TARGET])
def test_a_node_that_refuses_our_login_is_told_at_once(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: NewName,
    monkeypatch: pytest.MonkeyPatch,
    side: Side,
) -> None:
    monkeypatch.setattr(copying, "_DRAIN", 1.0)
    mirror = BackDoor(tmp_path, secured_source, secured_target, new_name("refused"))
    mirror.create()
    produce(secured_source.back_door, mirror.topic, [Record(None, b"x")] * 10)
    good: dict[str, Any] = {
        "source": secured(secured_source, vault),
        "target": secured(secured_target, vault),
    }
    work = replace(mirror.slices()[0], **good)
    bad = secured(getattr(mirror, side), vault, Secret("wr0ng"))
    refused: dict[str, Any] = {side: bad}
    wrong = replace(work, **refused)
    with copier(wrong, **good) as made:
        reach_ledger(made, work)
        made.run()
        [done] = made.summaries()
    assert f"{side}: logging in to " in done.error
    assert "SASL_AUTHENTICATION_FAILED (58); Authentication failed during" in done.error
    tp = TopicPartition(TopicName(mirror.topic), 0)
    with copier(endless(replace(wrong, number=1)), **good) as made:
        reach_ledger(made, work)
        with going(made):
            wait_until(lambda: tp in made.landing.lanes, "the lane is there")
            progress = made.landing.lanes[tp].progress
            wait_until(lambda: progress.error == done.error, "the error is told")
            assert not progress.stopped
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.error == done.error


def reach_ledger(made: Copier, work: CopySlice) -> None:
    """Let the copier reach the ledger by the good login."""
    receipts = made.landing.receipts
    receipts._client, receipts._ledger = _books(made, work)
    made._watch_client, made._watch._ledger = _books(made, work)


def _books(made: Copier, work: CopySlice) -> tuple[Client, Ledger]:
    client = Client(work.target, Side.TARGET, made.landing._target)
    return client, Ledger(made.landing._target, client)


def test_a_slice_that_may_not_come_in_says_so(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: NewName,
) -> None:
    mirror = BackDoor(tmp_path, secured_source, secured_target, new_name("refused"))
    mirror.create()
    good, bad = secured(secured_source, vault), secured(secured_target, vault, Secret("wr0ng"))
    work = replace(mirror.slices()[0], source=good, target=bad)
    with (
        copier(work, good, bad) as made,
        pytest.raises(RefusedError, match=r"target: logging in to .* SASL_AUTHENTICATION_FAILED"),
    ):
        made.run()
