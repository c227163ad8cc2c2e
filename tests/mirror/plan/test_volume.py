"""How many bytes a plan says there are to copy, and how fast it takes the link to be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin._acl import AclOperation

from tests.support.clusters import rights
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.kafka import Record, create_topic, produce
from tests.support.ledger.books import TP, opened, receipt
from tests.support.links import link
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.mirror.plan.link_plan import detailed
from towpath.mirror.plan.volume import rate
from towpath.model.nouns import LinkName
from towpath.plan.estimate import CopyRate, RateOrigin

NewName = Callable[[str], str]
MIB = 1 << 20


def books(size: int, *, at: int, last: int) -> LinkBooks:
    """Return the books of a link that copied so many bytes from 0 ms to `at`."""
    found = LinkBooks(LinkName("l"))
    found.of(TP).take(opened(at=0))
    found.of(TP).take(receipt(bytes=size, at=at, last_timestamp=last))
    return found


def test_the_rate_is_what_is_said_or_measured_or_guessed() -> None:
    old = books(100 * MIB, at=4_000_000, last=1000)
    assert rate(old) == CopyRate(100 * MIB / 4000, RateOrigin.MEASURED)
    assert rate(old, 7.0) == CopyRate(7.0, RateOrigin.SAID)
    assert rate(LinkBooks(LinkName("l"))).origin is RateOrigin.GUESS
    assert rate(old, limit=1000.0) == CopyRate(1000.0, RateOrigin.LIMIT)
    assert rate(old, 7.0, limit=1.0) == CopyRate(7.0, RateOrigin.SAID)
    assert rate(old, limit=1e12).origin is RateOrigin.MEASURED


def test_little_or_what_waited_for_producers_measures_nothing() -> None:
    assert rate(books(MIB, at=4_000_000, last=1000)).origin is RateOrigin.GUESS
    assert rate(books(100 * MIB, at=4_000_000, last=3_999_000)).origin is RateOrigin.GUESS


@pytest.mark.broker
def test_only_what_is_still_to_be_copied_counts(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("volume"))
    mirror.create(2)
    records = [Record(None, bytes(1024), partition=p) for p in (0, 1)] * 512
    produce(source.bootstrap, mirror.topic, records)
    first = said(mirror, capsys)
    assert MIB <= first["bytes"] == first["held"] < 1.2 * MIB
    mirror.catch_up()
    assert said(mirror, capsys)["bytes"] == 0
    produce(source.bootstrap, mirror.topic, records)
    again = said(mirror, capsys, "--rate", "1MiB/s")
    assert 0.45 < again["bytes"] / again["held"] < 0.55
    assert again["seconds"] == pytest.approx(again["bytes"] / MIB, abs=0.1)
    [topic] = again["topics"]
    assert (topic["topic"], topic["replicas"]) == (mirror.topic, 1)
    assert main(["plan", file(mirror), "--rate", "fast"]) == 2
    assert "such as 500KB or 50MB, not 'fast'" in capsys.readouterr().err


def said(mirror: Mirror, shown: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["plan", file(mirror), "--output", "json", *options]) == 0
    told: dict[str, Any] = json.loads(shown.readouterr().out)["to_copy"]
    return told


def file(mirror: Mirror) -> str:
    assert mirror.config.link
    return str(mirror.folder / f"{mirror.config.link}.yaml")


@pytest.mark.broker
def test_sizes_that_may_not_be_seen_are_a_note(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: NewName,
) -> None:
    name = create_topic(secured_source.back_door, new_name("hidden"))
    may = (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.READ)
    rights.allow(secured_source, rights.TOPIC, name, may, pattern=rights.LITERAL)
    (tmp_path / "password").write_text(USERS["mirror"].reveal())
    login = {
        "tls": {"ca": str(vault.ca)},
        "sasl": {
            "mechanism": "SCRAM-SHA-256",
            "username": "mirror",
            "password": f"file:{tmp_path / 'password'}",
        },
    }
    plan = detailed(link(secured_source.bootstrap, secured_target.bootstrap, name, security=login))
    assert plan.to_copy is None
    [note] = [each.text for each in plan.notes if "how many bytes there are to copy" in each.text]
    assert "Describe on the cluster" in note
