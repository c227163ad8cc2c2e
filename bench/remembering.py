"""What a year of transactions costs in the ledger where each of them begins a run."""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.meter import MIB, machine
from bench.pages import RESULTS, publish
from bench.report import table
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.batches import packed
from towpath.ledger.books import LinkBooks
from towpath.ledger.chunks import Incarnation, tidied
from towpath.ledger.entries import Entry, Opened, Receipt, Run, Runs
from towpath.ledger.ledger import Ledger
from towpath.ledger.packed import Packer
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.run_log import RunLog
from towpath.settings import ClusterConfig

PARTITIONS, RATE, DAYS = 50, 10, 365
ROUND, HOUR, DAY = 600, 3600, 86400
LINK = LinkName("changelogs")
WHY = Reason.of(ReasonCode.HOLES, first=0, last=1)
WORKLOADS = {"100 records each": range(100, 101), "50 to 149 records": range(50, 150)}
GOALS = (
    "wanted: ledger under 1 GB, a slice under 350 MB, a round start under 5 s, with 50 mapped"
    " partitions of 10 transactions a second each, after a year"
)


def of(partition: int) -> Incarnation:
    """Return what the runs of a partition are about."""
    tp = TopicPartition(TopicName("changelog"), partition)
    return Incarnation(LINK, tp, ProducerId((1 << 40) + partition))


def transactions(sizes: range, seed: int = 1) -> Iterator[Run]:
    """Return the runs of transactions, each with a marker behind it at the source."""
    rng, source, target = random.Random(seed), 10**9, 10**9
    while True:
        size = rng.choice(sizes)
        yield SourceOffset(source), TargetOffset(target), size
        source, target = source + size + 1, target + size


def of_a_day(sizes: range) -> list[Runs]:
    """Return the chunks that a day leaves of one partition, tidied each hour."""
    runs, kept, tail = transactions(sizes), list[Runs](), list[Run]()
    for begin in range(0, DAY, ROUND):
        log, written = RunLog(of(0).link, of(0).tp, of(0).producer_id), dict[str, Runs]()
        for _ in range(ROUND):
            for entry in log.add([*tail, *(next(runs) for _ in range(RATE))]):
                written[entry.chunk] = entry
            tail = []
        kept, tail = [*kept, *written.values()], list(log.tail)
        if (begin + ROUND) % HOUR == 0:
            made, removed = tidied(of(0), kept, 0)
            gone = {entry.key[-1] for entry in removed}
            kept = [*(chunk for chunk in kept if chunk.chunk not in gone), *made]
    return kept


def stored(chunk: Runs) -> int:
    """Return the bytes of an entry in a log, alone in its batch."""
    return sum(map(len, packed([chunk])))


def receipt(partition: int, second: int, tail: str) -> Receipt:
    """Return a receipt of a mapped partition that copies transactions."""
    about, at = of(partition), 10**9 + second * 1000
    return Receipt(
        link=LINK,
        topic=about.tp.topic,
        partition=partition,
        producer_id=about.producer_id,
        source_end=SourceOffset(at + second * RATE),
        source_epoch=3,
        target_end=TargetOffset(at),
        sequence=at,
        records=at,
        bytes=at * 900,
        first_timestamp=1,
        last_timestamp=2,
        digest=7,
        mode=Mode.MAPPED,
        reasons=(WHY,),
        run=(SourceOffset(at), TargetOffset(at), 100),
        trouble=None,
        at=at,
        copier=f"{partition:016x}",
        cuts=0,
        packed=tail,
    )


def opened(partition: int) -> Opened:
    """Return how a mapped partition began."""
    about = of(partition)
    return Opened(
        link=LINK,
        topic=about.tp.topic,
        partition=partition,
        source_topic_id=TopicId("s"),
        target_topic=about.tp.topic,
        target_topic_id=TopicId("t"),
        producer_id=about.producer_id,
        mode=Mode.MAPPED,
        reasons=(WHY,),
        source_start=SourceOffset(0),
        target_start=TargetOffset(0),
        run_id="r",
        at=1,
    )


def fill(ledger: Ledger, day: list[Runs], tail: str) -> None:
    """Write what the ledger holds after a year, with ten minutes that the cleaner did not see."""
    ledger.append([opened(n) for n in range(PARTITIONS)])
    for partition in range(PARTITIONS):
        about, year = of(partition), [chunk for _ in range(DAYS) for chunk in day]
        entries: list[Entry] = [
            replace(
                chunk, partition=partition, producer_id=about.producer_id, chunk=f"{number:016x}"
            )
            for number, chunk in enumerate(year)
        ]
        ledger.append(entries)
    for second in range(ROUND):
        ledger.append([receipt(n, second, tail) for n in range(PARTITIONS)])


def look(bootstrap: str, what: str) -> dict[str, Any]:
    """Read the ledger as a part of a run does, in this process."""
    with ExitStack() as stack:
        config = ClusterConfig(bootstrap=(bootstrap,))
        admin = stack.enter_context(Admin(config, Side.TARGET))
        client = stack.enter_context(Client(config, Side.TARGET, admin))
        ledger, before = Ledger(admin, client), _peak()
        began = time.monotonic()
        only = frozenset(of(n).tp for n in range(0, PARTITIONS, 2)) if what == "slice" else None
        books = LinkBooks(LINK, only)
        for entry in ledger.read(wanted=books.wants):
            books.take(entry)
        if what == "verify":
            ledger.read_runs(books)
        seconds = time.monotonic() - began
    held = sum(each.receipt is not None for each in books.partitions.values())
    return {"seconds": seconds, "before": before, "peak": _peak(), "partitions": held}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _looked(bootstrap: str, what: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "bench.remembering", "--look", what, "--bootstrap", bootstrap]
    said = subprocess.run(words, check=True, capture_output=True, text=True)
    return {"who": what, **json.loads(said.stdout)}


def measure() -> dict[str, Any]:
    """Simulate a day of each workload; fill a real ledger with a year of the first one."""
    days = {name: of_a_day(sizes) for name, sizes in WORKLOADS.items()}
    ledgers = [
        {
            "transactions": name, "chunks": len(day) * DAYS * PARTITIONS,
            "bytes": sum(map(stored, day)) * DAYS * PARTITIONS,
            "per_run": sum(map(stored, day)) / (RATE * DAY),
        }
        for name, day in days.items()
    ]  # fmt: skip
    runs = transactions(WORKLOADS["50 to 149 records"])
    tail = Packer(next(runs) for _ in range(256)).text()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="towpath-bench-"))
        cluster = stack.enter_context(LocalCluster(home=Path(folder)))
        config = ClusterConfig(bootstrap=cluster.addresses)
        admin = stack.enter_context(Admin(config, Side.TARGET))
        ledger = Ledger(admin, stack.enter_context(Client(config, Side.TARGET, admin)))
        ledger.create()
        fill(ledger, next(iter(days.values())), tail)
        looks = [_looked(cluster.bootstrap, what) for what in ("slice", "round", "verify")]
    return {"ledgers": ledgers, "looks": looks}


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--look", help=argparse.SUPPRESS)
    parser.add_argument("--bootstrap", help=argparse.SUPPRESS)
    wish = parser.parse_args()
    if wish.look:
        print(json.dumps(look(wish.bootstrap, wish.look)))
        return
    told = machine()
    found = measure()
    publish(wish.out, "ledger", {"machine": told, **found}, _page(told, found))


def _page(told: dict[str, str], found: dict[str, Any]) -> Iterator[str]:
    yield from ("# A year of transactions in the ledger", "", f"{GOALS}. Made by `bench/ledger`.")
    yield from ("", "## Runs", "")
    yield from table(
        ("transactions", "chunks", "MB in the ledger", "bytes a run"),
        (
            (each["transactions"], each["chunks"], round(each["bytes"] / 1e6),
             round(each["per_run"], 4))
            for each in found["ledgers"]
        ),
    )  # fmt: skip
    yield from ("", "One day of one partition is simulated, in rounds of ten minutes and tidied")
    yield from ("each hour, and multiplied by 365 days and 50 partitions.", "")
    yield from ("## Reading it", "", "The first of these, on a real broker, with 30,000 receipts")
    yield from ("that the cleaner did not see yet. Peak memory is that of a Python process.", "")
    yield from table(
        ("who reads", "partitions", "seconds", "peak MiB", "of which before reading"),
        (
            (each["who"], each["partitions"], round(each["seconds"], 1),
             each["peak"] // MIB, each["before"] // MIB)
            for each in found["looks"]
        ),
    )  # fmt: skip
    yield ""
    yield from (f"- {name}: {value}" for name, value in told.items())


if __name__ == "__main__":
    main()
