"""The whole program while certificates and a password are replaced: it goes on, and shows none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from tests.support.clusters import fleet
from tests.support.clusters.brokers import set_passwords
from tests.support.clusters.clusters import Clusters
from tests.support.clusters.keys import NEW, OLD, Keys
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from tests.support.program import Program
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def link(folder: Path, source: LocalCluster, target: LocalCluster, keys: Keys) -> Path:
    file = folder / "link.yaml"
    tls = ", ".join(f"{name}: '{keys.ours / name}'" for name in ("ca", "cert", "key"))
    sasl = f"mechanism: SCRAM-SHA-512, username: mirror, password: 'file:{keys.ours}/password'"
    file.write_text(
        f"source: {{bootstrap: '{source.back_door}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}', tls: {{{tls}}}, sasl: {{{sasl}}},"
        " request_timeout: 5s}\n"
        "link: rotating\ntopics: {include: ['rotated']}\nrun: {discover: 500ms, round: 10s}\n"
    )
    return file


def test_a_run_outlives_a_rotation(
    tmp_path: Path, source: LocalCluster, clusters: Clusters
) -> None:
    keys = Keys(tmp_path / "keys")
    cluster = clusters.get("rotating", **fleet.lone(keys.served, keys.trusted, OLD))
    target = cluster.through("ROTATING")
    topic = create_topic(source.back_door, "rotated")
    events = tmp_path / "events"
    events.mkdir()
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{events}\n"
        "spark.eventLog.compress false\nspark.log.level INFO\n"
    )
    report = tmp_path / "report.json"
    run = Program(
        tmp_path, "run", str(link(tmp_path, source, target, keys)), "--master", "local[2]",
        "--report", str(report), env={"SPARK_CONF_DIR": str(tmp_path)},
    )  # fmt: skip
    try:
        _copy(run, source, target, topic, 100)
        set_passwords(target, {"mirror": NEW})
        keys.serve(1)
        target.restart(1)
        wait_until(lambda: "is signed by none of" in run.said, "it is told", 60)
        for name in "ca", "cert", "key":
            keys.give(name, 1)
        (keys.ours / "password").write_text("")
        wait_until(lambda: "password changed but cannot be used" in run.said, "it is told", 60)
        keys.give("password", 1)
        wait_until(lambda: "event=secrets.unusable_over" in run.said, "it is told", 60)
        _copy(run, source, target, topic, 200)
        assert run.stop() == 0, run.said
    finally:
        run.close()
    ledger = consume(target.back_door, "__towpath_ledger", (0, 1))
    shown = {str(each): each.read_bytes() for each in events.rglob("*") if each.is_file()}
    shown |= {"said": run.said.encode(), "report": report.read_bytes()}
    shown["ledger"] = b"".join((r.key or b"") + (r.value or b"") for r in ledger)
    assert [name for name, text in shown.items() if b"m4rked" in text] == []
    values = [record.value for record in consume(target.back_door, topic)]
    assert values == [b"%d" % i for i in range(100)] * 2


def _copy(run: Program, source: LocalCluster, target: LocalCluster, topic: str, count: int) -> None:
    produce(source.back_door, topic, [Record(None, b"%d" % i) for i in range(100)])

    def is_there() -> bool:
        assert run.running, run.said
        with suppress(KafkaException):
            return end_offsets(target.back_door, topic)[1] == count
        return False

    wait_until(is_there, f"{count} records are copied", 120)
