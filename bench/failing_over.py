"""How long a failover of thousands of topics and groups takes, with the source gone.

The ledger is filled as a run would have left it; records lie in the logs of the target. The source
is an address at which nobody listens.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.meter import machine
from bench.pages import RESULTS, publish
from bench.planning import create
from bench.report import table
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import LinkIdentity, Opened, Receipt, SeenGroup, SeenPosition
from towpath.ledger.link import OpenTarget, open_target
from towpath.ledger.producers import producer_id
from towpath.model.errors import ClusterError
from towpath.model.groups import GroupKind
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.settings import load
from towpath.wire import plain

PARTITIONS, RECORDS, TOPICS_OF_A_GROUP = 4, 50, 5
HEAP = "512m"
LEADERS = 300.0
"""Seconds to wait for leaders, of which brokers tell before they lead on a busy machine."""
LINK, GONE = LinkName("many"), ClusterId("gone")
NOWHERE = "127.0.0.1:9"
GOALS = "wanted: a decision on 5,000 topics with 20,000 partitions and 1,000 groups within 10 s"


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=5000, help=f"of {PARTITIONS} partitions each")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    told = machine()
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        found = _measure(Path(folder), wish.topics, wish.groups)
    sizes = {"topics": wish.topics, "partitions": PARTITIONS * wish.topics, "groups": wish.groups}
    data = {"machine": told, **sizes, "runs": found}
    publish(wish.out, "failover", data, _page(told, sizes, found))


def _measure(folder: Path, topics: int, groups: int) -> list[dict[str, Any]]:
    configs = {"min.insync.replicas": "1", "offsets.topic.num.partitions": "50"}
    with LocalCluster(brokers=3, home=folder / "target", heap=HEAP, properties=configs) as target:
        names = [TopicName(f"many-{number:05}") for number in range(topics)]
        create(target, names, PARTITIONS)
        file = folder / "link.yaml"
        file.write_text(
            f"source: {{bootstrap: '{NOWHERE}', request_timeout: 5s}}\n"
            f"target: {{bootstrap: '{target.bootstrap}'}}\n"
            f"link: {LINK}\ntopics: {{include: ['many-.*']}}\ngroups: {{}}\n"
        )
        fill(file, names, groups)
        return [
            _run("rehearsal", file, "--dry-run"),
            _run("failover", file, "--yes"),
            _run("again", file, "--yes"),
        ]


def fill(file: Path, names: list[TopicName], groups: int) -> None:
    """Let the target have records, and the ledger what a run would have written of them."""
    config = load(file)
    batch = plain.encode([plain.Record(b"k", b"v", (), 1_700_000_000_000)] * RECORDS)
    with open_target(LINK, config.target) as to, Client(config.target, Side.TARGET, to.target) as c:
        _patiently(to.ledger.create)
        _patiently(to.ledger.append, [LinkIdentity(LINK, GONE, to.target.cluster.id(), 4, "0")])
        ids = {name: info.id for name, info in to.target.topics.describe(names).items()}
        for name in names:
            for number in range(PARTITIONS):
                _patiently(c.produce, TopicPartition(name, number), batch)
            _patiently(to.ledger.append, [*_facts(name, ids[name])])
        _patiently(to.ledger.append, [_group(number, names) for number in range(groups)])
        _require_there(to, names)


def _patiently(call: Callable[..., object], *arguments: object) -> None:
    """Call again while a broker that is new to its partitions does not answer."""
    until = Deadline.after(LEADERS)
    while True:
        try:
            call(*arguments)
        except ClusterError:
            if until.over:
                raise
            time.sleep(1)
        else:
            return


def _facts(name: TopicName, target_id: TopicId) -> Iterator[Opened | Receipt]:
    source_id = TopicId(f"source-{name}")
    for number in range(PARTITIONS):
        tp = TopicPartition(name, number)
        own = producer_id(LINK, GONE, source_id, target_id, tp)
        place: dict[str, Any] = {
            "link": LINK,
            "topic": name,
            "partition": number,
            "producer_id": own,
        }
        yield Opened(
            **place,
            source_topic_id=source_id,
            target_topic=name,
            target_topic_id=target_id,
            mode=Mode.IDENTICAL,
            reasons=(),
            source_start=SourceOffset(0),
            target_start=TargetOffset(0),
            run_id="r",
            at=now_ms(),
        )
        yield Receipt(
            **place,
            source_end=SourceOffset(RECORDS),
            source_epoch=0,
            target_end=TargetOffset(RECORDS),
            sequence=RECORDS,
            records=RECORDS,
            bytes=1000,
            first_timestamp=0,
            last_timestamp=0,
            digest=1,
            mode=Mode.IDENTICAL,
            reasons=(),
            run=(SourceOffset(0), TargetOffset(0), RECORDS),
            trouble=None,
            at=now_ms(),
            copier="c",
        )


def _group(number: int, names: list[TopicName]) -> SeenGroup:
    first = number * TOPICS_OF_A_GROUP
    read = [names[(first + each) % len(names)] for each in range(TOPICS_OF_A_GROUP)]
    places = tuple(SeenPosition(each, SourceOffset(RECORDS - 7)) for each in range(PARTITIONS))
    return SeenGroup(
        link=LINK,
        group=f"group-{number:04}",
        of=GroupKind.CONSUMER,
        mirror_group=f"group-{number:04}",
        state="Stable",
        at=now_ms(),
        ids={name: TopicId(f"source-{name}") for name in read},
        topics=dict.fromkeys(read, places),
        type="classic",
    )


def _require_there(to: OpenTarget, names: list[TopicName]) -> None:
    ends = to.target.offsets.latest([TopicPartition(names[-1], 0)])
    assert set(ends.values()) == {RECORDS}, ends  # noqa: S101


def _run(what: str, file: Path, *options: str) -> dict[str, Any]:
    began, load = time.monotonic(), os.getloadavg()[0]
    words = [sys.executable, "-m", "towpath", "failover", str(file), *options, "-o", "json"]
    said = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    whole = time.monotonic() - began
    told = json.loads(said.stdout)
    if "error" in told:
        raise SystemExit(told["error"]["text"])
    return {
        "what": what,
        "load": round(load, 1),
        "seconds": round(whole, 2),
        "parts": told["seconds"],
        "positions": len(told["plan"]["positions"]),
        "fenced": told["fenced"],
        "missing": len(told["missing"]),
    }


def _page(
    told: dict[str, str], sizes: dict[str, int], found: list[dict[str, Any]]
) -> Iterator[str]:
    yield f"# Failover of {sizes['topics']:,} topics and {sizes['groups']:,} groups"
    yield from ("", f"{GOALS}. Made by `bench/failover`: three brokers of {HEAP}, {PARTITIONS}")
    yield f"partitions a topic, {TOPICS_OF_A_GROUP} topics a group; the source is gone. `look` is"
    yield from ("the decision, with all that is read for it.", "")
    parts = ("look", "seal", "fence", "groups", "end")
    yield from table(
        ("run", "load before", "seconds", *parts, "positions", "fenced", "left"),
        (
            (
                each["what"], each["load"], each["seconds"],
                *(each["parts"].get(part, "") for part in parts),
                each["positions"], each["fenced"], each["missing"],
            )
            for each in found
        ),
    )  # fmt: skip
    yield from ("", ", ".join(f"{name} {value}" for name, value in told.items()))


if __name__ == "__main__":
    main()
