"""How fast topics with gaps are copied: with markers, with transactions, and mapped."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.meter import cpu, machine
from bench.pages import RESULTS, publish
from bench.report import table
from towpath.cluster.admin import Admin
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.cluster.codes import CLUSTER_AUTHORIZATION_FAILED, refused
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import Answers
from towpath.dev.broker import LocalCluster
from towpath.ledger.ledger import Ledger
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.model.nouns import Side
from towpath.records.copy import copy
from towpath.records.session import LinkSession
from towpath.settings import load

COMPACT = {
    "cleanup.policy": "compact",
    "segment.ms": "2000",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "2000",
}
TOPICS: Mapping[str, tuple[int, str]] = {
    "transactions": (50, "10 transactions a second on each of 50 partitions, for a minute"),
    "aborted": (1, "a million aborted records in 100 transactions, a committed one between"),
    "compacted": (4, "a compacted topic of 200,000 offsets with 90 % holes"),
}
METHODS = ("markers", "transactions", "mapped")
HEAD = (
    "topic", "method", "mode", "offsets", "records", "seconds", "offsets/s", "CPU s, copier",
    "CPU s, target", "only read_uncommitted sees",
)  # fmt: skip


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    told = machine()
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        found = list(_measure(Path(folder)))
    publish(wish.out, "gaps", {"machine": told, "runs": found}, _page(told, found))


def _measure(folder: Path) -> Iterator[dict[str, Any]]:
    quick = {"log.cleaner.backoff.ms": "500"}
    with LocalCluster(home=folder / "source", heap="512m", properties=quick) as source:
        for topic, (partitions, _) in TOPICS.items():
            _create(source, topic, partitions, COMPACT if topic == "compacted" else {})
            WRITERS[topic](source)
        for method in METHODS:
            with LocalCluster(home=folder / method, heap="512m") as target:
                for topic, (partitions, _) in TOPICS.items():
                    # Without the cleaner, so that what was written can be counted.
                    _create(target, topic, partitions, {})
                    yield _run(folder, source, target, topic, method)


def _create(cluster: LocalCluster, topic: str, partitions: int, config: Mapping[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config))])[topic].result(60)
    time.sleep(3)


def _write_transactions(cluster: LocalCluster) -> None:
    writer = _transactional(cluster)
    for number in range(600):
        writer.begin_transaction()
        for partition in range(50):
            writer.produce("transactions", b"%d" % number, b"key", partition=partition)
        writer.commit_transaction(60)


def _write_aborted(cluster: LocalCluster) -> None:
    writer = _transactional(cluster)
    for _ in range(100):
        for count, end in ((10_000, writer.abort_transaction), (1, writer.commit_transaction)):
            writer.begin_transaction()
            for number in range(count):
                writer.produce("aborted", b"%d" % number, b"key", partition=0)
                writer.poll(0)
            writer.flush()
            end(60)


def _write_compacted(cluster: LocalCluster) -> None:
    rng, writer = random.Random(1), Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(200_000):
        key = b"%d" % rng.randrange(20_000)
        partition = int(key) % 4
        writer.produce("compacted", b"%d" % number, key, partition=partition)
        if number % 1000 == 0:
            writer.flush()
    writer.flush()
    until = time.monotonic() + 120
    while _seen(cluster, "compacted", 4) > 24_000 and time.monotonic() < until:
        time.sleep(3)
        for partition in range(4):  # a new record lets the cleaner have what lies before
            writer.produce("compacted", b"", b"%d" % partition, partition=partition)
        writer.flush()


WRITERS: Mapping[str, Callable[[LocalCluster], None]] = {
    "transactions": _write_transactions,
    "aborted": _write_aborted,
    "compacted": _write_compacted,
}


def _transactional(cluster: LocalCluster) -> Producer:
    writer = Producer({
        "bootstrap.servers": cluster.bootstrap, "transactional.id": f"bench-{time.monotonic_ns()}",
        "queue.buffering.max.messages": 1_000_000,
    })  # fmt: skip
    writer.init_transactions(60)
    return writer


def _run(
    folder: Path, source: LocalCluster, target: LocalCluster, topic: str, method: str
) -> dict[str, Any]:
    file = folder / f"{method}-{topic}.yaml"
    policy = "mapped" if method == "mapped" else "auto"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {topic}\ntopics: {{include: ['{topic}']}}\nrecords: {{offsets: {policy}}}\n"
    )
    config = load(file)
    with ExitStack() as stack:
        admin = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, admin))
        Ledger(admin, client).create()
        if method == "transactions":
            stack.enter_context(_no_markers())
        session = LinkSession(config.link, config.target, admin)
        session.start()
        stack.callback(session.close)
        [work] = plan_round(RoundPlan(config, session.run_id, 1, once=True), 1)
        pids = [each.pid for each in target.identities]
        began, used, theirs = time.monotonic(), time.process_time(), sum(map(cpu, pids))
        done = list(copy(work))
        seconds = time.monotonic() - began
        used, theirs = time.process_time() - used, sum(map(cpu, pids)) - theirs
    partitions = TOPICS[topic][0]
    offsets, records = sum(each.source_end for each in done), sum(each.records for each in done)
    sees = _seen(target, topic, partitions, "read_uncommitted") - records
    return {
        "topic": topic, "method": method, "mode": "+".join(sorted({d.mode for d in done})),
        "reason": max(each.reason or each.error for each in done), "offsets": offsets,
        "records": records, "seconds": round(seconds, 2), "offsets_per_s": round(offsets / seconds),
        "copier_cpu": round(used, 2), "target_cpu": round(theirs, 2), "only_uncommitted": sees,
    }  # fmt: skip


@contextmanager
def _no_markers() -> Iterator[None]:
    """Let the target refuse markers, as one does whose login lacks the right."""
    error = refused(Side.TARGET, "writing markers", CLUSTER_AUTHORIZATION_FAILED)

    def refuse(_: object, markers: Mapping[Any, object], **__: object) -> Answers[Any, None]:
        return Answers({}, dict.fromkeys(markers, error))

    with (
        patch.object(ProducerAdmin, "write_markers", refuse),
        patch.object(ProducerAdmin, "marker_refusal", lambda _: error),
    ):
        yield


def _seen(
    cluster: LocalCluster, topic: str, partitions: int, isolation: str = "read_committed"
) -> int:
    """Return how many records a consumer sees."""
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap, "group.id": "bench",
        "auto.offset.reset": "earliest",
        "isolation.level": isolation, "enable.partition.eof": True, "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    seen = ended = 0
    while ended < partitions:
        for message in consumer.consume(10_000, 1.0):
            ended += bool(message.error())
            seen += not message.error()
    consumer.close()
    return seen


def _page(told: Mapping[str, str], found: list[dict[str, Any]]) -> Iterator[str]:
    yield "# Topics with gaps"
    yield ""
    yield (
        "The same topics copied with gaps filled by markers, by transactions (as where the login"
        " lacks the right), and mapped. One slice without Spark; broker and copier share the cores."
        " Made by `bench/gaps`."
    )
    yield ""
    for topic, (_, about) in TOPICS.items():
        yield f"- {topic}: {about}"
    yield ""
    rows = (
        [
            run["topic"], run["method"], run["mode"], f"{run['offsets']:,}", f"{run['records']:,}",
            run["seconds"], f"{run['offsets_per_s']:,}", run["copier_cpu"], run["target_cpu"],
            f"{run['only_uncommitted']:,}",
        ]
        for run in found
    )  # fmt: skip
    yield from table(HEAD, rows)
    yield ""
    for run in found:
        if run["reason"]:
            yield f"- {run['topic']}, {run['method']}: {run['reason']}"
    yield ""
    yield from (f"- {name}: {value}" for name, value in told.items())


if __name__ == "__main__":
    main()
