"""TLS, SCRAM and ACLs on both sides: the mirror works, and what is refused is said helpfully."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import TOPIC, allow
from tests.support.clusters.secured import SecuredLink, load, permit
from tests.support.here import Here
from tests.support.kafka import consume

pytestmark = pytest.mark.broker


@pytest.mark.spark(own=True)
def test_a_secured_mirror_shows_no_secret(secured: SecuredLink, tmp_path: Path, here: Here) -> None:
    topic = load(secured)
    permit(secured)
    events, report = tmp_path / "events", tmp_path / "report.json"
    events.mkdir()
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{events}\n"
        "spark.eventLog.compress false\nspark.log.level INFO\n"
    )
    run = secured.start(
        "run", "--until-caught-up", "--master", "local[2]", "--report", str(report),
        env={"SPARK_CONF_DIR": str(tmp_path)},
    )  # fmt: skip
    assert run.wait(120) == 0, run.said
    source, target = (
        consume(cluster.back_door, topic, (0, 1)) for cluster in (secured.source, secured.target)
    )
    assert target == source
    assert len(target) == 200
    [note] = [each for each in json.loads(report.read_text())["notes"] if "not written" in each]
    assert re.match(r"\d+ events are not written to topic __towpath_events: target: ", note)
    assert "the login needs the ACL" in note, "the run goes on without the right, and says so"
    told = here("status", str(secured.file))
    assert told.code == 0, told.said
    [line] = [
        each for each in told.said.splitlines() if each.startswith("events: of `towpath run`")
    ]
    assert "not written to topic __towpath_events: target: " in line
    ledger = consume(secured.target.back_door, "__towpath_ledger", (0, 1))
    secret = USERS["mirror"].reveal().encode()
    shown = {"output": run.said.encode(), "report": report.read_bytes()}
    shown |= {str(each): each.read_bytes() for each in events.rglob("*") if each.is_file()}
    shown["ledger"] = b"".join((r.key or b"") + (r.value or b"") for r in ledger)
    assert [name for name, text in shown.items() if secret in text] == []
    assert any("SparkListener" in text.decode(errors="replace") for text in shown.values())


def test_a_wrong_password_is_told_without_being_shown(
    secured: SecuredLink, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_PASSWORD", "wrong-one")
    told = here("status", str(secured.file))
    assert told.code == 4, told.said
    assert "source: logging in to " in told.said
    assert "SASL_AUTHENTICATION_FAILED (58)" in told.said
    assert "check name and password (or token) under `sasl`" in told.said
    assert "wrong-one" not in told.said


@pytest.mark.spark
def test_a_run_with_a_wrong_password(
    secured: SecuredLink, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_PASSWORD", "wrong-one")
    run = here.run(str(secured.file))
    assert run.code == 4, run.said
    assert "source: " in run.said
    assert "wrong-one" not in run.said


def test_an_expired_certificate_is_told_with_who_must_renew_it(
    secured: SecuredLink, secured_target: SharedCluster, here: Here
) -> None:
    secured.target = secured_target.through("EXPIRED")
    told = here("status", str(secured.file))
    assert told.code == 4, told.said
    assert "target: " in told.said
    assert "the broker's certificate has expired; renew it on the broker" in told.said


def refused(secured: SecuredLink, here: Here) -> str:
    run = here.run(str(secured.file), "--until-caught-up")
    assert run.code == 4, run.said
    return run.said


@pytest.mark.spark
def test_a_target_that_allows_nothing(secured: SecuredLink, here: Here) -> None:
    topic = load(secured)
    allow(secured.source, TOPIC, secured.name)
    secured.user["target"] = "nobody"
    said = refused(secured, here)
    assert f"target: creating topic {topic} with 2 partitions" in said
    assert f"the login needs the ACL Create on topic {topic} or on the cluster" in said


@pytest.mark.spark
def test_a_topic_that_may_not_be_read(secured: SecuredLink, here: Here) -> None:
    topic = load(secured)
    permit(secured, AclOperation.DESCRIBE)
    said = refused(secured, here)
    assert f"source: the login lacks the ACL Read on topic {topic}; add it there" in said
