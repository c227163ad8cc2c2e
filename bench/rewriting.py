"""`bench/rewrite`: what it costs to change records, beside plain copying and MirrorMaker 2.

With `--before CLONE`, an earlier build is beside them. MirrorMaker 2 has a transform for headers
and one that filters; none rewrites schema ids, so it copies plainly there, which costs it less.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from tests.support.registries.registry import LocalRegistry, fetch, record

from bench import frames, throughput
from bench.arena import Arena
from bench.copiers import Before, Wish, towpath_environment
from bench.data import SETS, Prepared
from bench.kernels import HEAD, IDS, PROVENANCE, framed_batches, micro
from bench.meter import machine
from bench.pages import RESULTS, publish, some_of
from bench.report import table
from bench.suite import COPIERS, SCALES, Suite
from bench.telling import tell

ROOT = Path(__file__).resolve().parents[1]
KEYED = SETS[0]
DISTINCT = 400
"""Batches that differ; the rest are the same again."""
TOPIC = "rewrite"
MICRO, SPARK = "micro", "spark"
_CHANGE = "changes:\n  - topics: ['.*']\n"
_INSERT = (
    ("transforms", "env"),
    ("transforms.env.type", "org.apache.kafka.connect.transforms.InsertHeader"),
    ("transforms.env.header", "env"),
    ("transforms.env.value.literal", "prod"),
    # A literal is a text, which the converter of MirrorMaker 2 refuses; this one takes texts, and
    # writes all other headers as Base64.
    ("header.converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter"),
)
_FILTER = (
    ("transforms", "home"),
    ("transforms.home.type", "org.apache.kafka.connect.transforms.Filter"),
    ("transforms.home.predicate", "home"),
    ("predicates", "home"),
    ("predicates.home.type", "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"),
    ("predicates.home.name", PROVENANCE),
)


_IDENTITY = "select key, value, headers, partition, timestamp from records"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One change by both copiers.

    Attributes:
        name: Its name.
        lines: Lines of Towpath's file.
        properties: Properties of MirrorMaker 2's flow.
        codec: Codec of what MirrorMaker 2 writes.
        drops: Whether half of the records are dropped.
        wanted: Upper bound of Towpath's CPU, as a part of MirrorMaker 2's.
        alone: Whether MirrorMaker 2 has nothing like it.
    """

    name: str
    lines: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    codec: str = "lz4"
    drops: bool = False
    wanted: float | None = None
    alone: bool = False


SCENARIOS = (
    Scenario("plain"),
    Scenario(
        "header", f"{_CHANGE}    headers: [{{name: env, value: prod}}]\n", _INSERT, wanted=1 / 3
    ),
    Scenario("ids", "", wanted=1 / 4),
    Scenario("provenance", f"{_CHANGE}    drop: [{{provenance: {PROVENANCE}}}]\n", _FILTER,
             drops=True),
    Scenario("recompress", f"{_CHANGE}    codec: zstd\n", codec="zstd"),
    Scenario("transform", f"transform: {{sql: '{_IDENTITY}'}}\n", alone=True),
)  # fmt: skip
PARTS = (*(each.name for each in SCENARIOS), SPARK, MICRO)


def main() -> int:
    """Measure, and write the page and the figures; return 1 when something failed."""
    wish = _arguments()
    Before.clone = wish.before or Before.clone
    towpath_environment(ROOT)
    told = machine()
    found: dict[str, Any] = {"machine": told, "size": wish.size, "runs": {}, "trouble": []}
    if set(wish.sets) != {MICRO}:
        with tempfile.TemporaryDirectory(prefix="towpath-bench-", dir=wish.home) as home:
            _whole(wish, Path(home), found)
    found["micro"] = micro() if MICRO in wish.sets else []
    part = "" if set(wish.sets) == set(PARTS) and wish.size == "full" else "-part"
    publish(wish.out, f"rewrite{part}", found, _page(found))
    return 1 if found["trouble"] else 0


def _whole(wish: argparse.Namespace, home: Path, found: dict[str, Any]) -> None:
    scale = SCALES[wish.size]
    with Arena(home, "1g") as arena, ExitStack() as stack:
        suite = Suite(arena, home, scale, frozenset(wish.skip), tell)
        suite.warm_brokers()
        prepared = _prepared(scale.records * wish.records, _cluster_id(arena.target.bootstrap))
        throughput.load(arena, prepared, TOPIC)
        for scenario in SCENARIOS:
            if scenario.name not in wish.sets:
                continue
            for who in ("mm2", *(("before",) if wish.before else ()), "towpath"):
                if who in wish.skip or (who == "mm2" and scenario.alone):
                    continue
                with suite.caught(scenario.name, who):
                    lines = scenario.lines
                    if scenario.name == "ids" and who != "mm2":
                        lines = stack.enter_context(_registries(home))
                    run = _copied(suite, arena, replace(scenario, lines=lines), who, prepared)
                    found["runs"].setdefault(scenario.name, {})[who] = run
                    suite.said(run)
        if SPARK in wish.sets:
            with suite.caught(SPARK, "jobs"):
                found["spark"] = frames.measure(arena, prepared, TOPIC, home)
        found["trouble"] = suite.results.trouble


def _copied(
    suite: Suite, arena: Arena, scenario: Scenario, who: str, prepared: Prepared
) -> dict[str, Any]:
    wish = Wish(
        (TOPIC, "warm"), scenario.codec, prepared.data.partitions,
        more=scenario.lines, properties=scenario.properties,
    )  # fmt: skip
    kept = prepared
    if scenario.drops:
        kept = replace(prepared, data=replace(prepared.data, records=prepared.data.records // 2))
    arena.hide(TOPIC)
    try:
        with suite.warmed(who, wish, f"{scenario.name}-{who}") as copier:
            return throughput.copied(arena, copier, kept, TOPIC, lambda: arena.show(TOPIC))
    finally:
        arena.show(TOPIC)


def _prepared(factor: float, home: str) -> Prepared:
    """Return framed records, every second of which says that it comes from the target."""
    data = KEYED.scaled(factor)
    frames = [b"\0" + number.to_bytes(4, "big") for number in IDS]
    made, size = framed_batches(
        data, lambda index: frames[index % len(frames)], DISTINCT * data.per_batch, home.encode()
    )
    total = data.records // data.per_batch
    batches: list[list[bytes]] = [[] for _ in range(data.partitions)]
    for number in range(total):
        batches[number % data.partitions].append(made[number % DISTINCT])
    wire = sum(len(made[number % DISTINCT]) for number in range(total))
    return Prepared(data, batches, round(size * total / DISTINCT), wire)


@contextmanager
def _registries(home: Path) -> Iterator[str]:
    """Yield the lines of a file whose schemas get other ids on the target."""
    program = fetch()
    if program is None:
        raise RuntimeError("the schema registry is built with Go, and there is none")
    ours, theirs = (LocalRegistry(program, home / f"registry-{side}") for side in ("a", "b"))
    try:
        theirs.register("other-value", record("Other", "a"))
        ours.ask("PUT", "/config", {"compatibility": "NONE"})
        for number in IDS:
            ours.register(f"{TOPIC}-value", record(f"Record{number}", "a", "b"))
        yield (
            f'schemas: {{source: {{url: "{ours.url}"}}, target: {{url: "{theirs.url}"}},'
            " ids: translate}\n"
            f"{_CHANGE}    ids: {{key: none}}\n"
        )
    finally:
        ours.stop()
        theirs.stop()


def _cluster_id(bootstrap: str) -> str:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        return str(admin.describe_cluster()["cluster_id"])
    finally:
        admin.close()


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield "# Records that change on their way"
    yield ""
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())
    if found["runs"]:
        yield from ("", "## Between brokers", "", *_runs(found["runs"]), "", *_goals(found["runs"]))
        yield from ("", *_beside_before(found["runs"]))
        yield from ("", *_METHOD)
    if found.get("spark"):
        yield from ("", "## PySpark jobs", "", *frames.page(found["spark"]), "", _JOBS)
    if found["micro"]:
        yield from ("", "## One core, without brokers", "", *table(HEAD, found["micro"]))
    for trouble in found["trouble"]:
        yield from ("", f"Failed: {trouble.splitlines()[0]}")


_METHOD = (
    "The same topic for all: 1 KB JSON behind a schema id, lz4, batches of 200, 8 partitions; every"
    " second record has a header that names the target's cluster. MirrorMaker 2 inserts the header"
    " with `InsertHeader` (and `SimpleHeaderConverter`, without which its tasks die), drops records"
    " with `Filter` and `HasHeaderKey`, and recompresses with its producer; it has nothing for"
    " schema ids, so it copies plainly there. `transform` sends all records as they are through"
    " Spark SQL (a query that selects their columns), exactly once. GiB are of keys, values and"
    " headers at the source, uncompressed. All processes share the processors, so only ratios"
    " within this page mean something; the method is that of `bench/mirror`.",
)


_JOBS = (
    "The same topic. `read` is a batch that reads all columns into Spark's `noop` sink, `identity`"
    " selects key, value, headers and partition (with Towpath also the timestamp) in SQL and writes"
    " them to another topic, lz4. `stream` does the same with `readStream` and `writeStream`, in"
    " micro-batches of 250,000 offsets (`availableNow`), with a checkpoint. Spark's own source and"
    " sink are those of Spark 4.2 (there are"
    " none for 4.3) on Spark 4.3; Towpath's sink writes exactly once, Spark's at least once. One"
    " driver each on `local[2]`, warmed by one job of each kind. CPU is that of driver, JVM and"
    " Python workers."
)


def _runs(runs: dict[str, Any]) -> Iterator[str]:
    head = ("change", "who", "records/s", "MiB/s", "CPU s per GiB", "source broker",
            "target broker", "others CPU s", "surplus")  # fmt: skip
    rows: list[Sequence[Any]] = [
        (
            name, who, f"{run['records_per_s']:,}", run["mib_per_s"], run["cpu_per_gib"]["copier"],
            run["cpu_per_gib"]["source"], run["cpu_per_gib"]["target"],
            f"{run['cpu']['others']:.1f}", run["surplus"],
        )
        for name, by in runs.items()
        for who, run in by.items()
    ]  # fmt: skip
    yield from table(head, rows)


def _goals(runs: dict[str, Any]) -> Iterator[str]:
    rows = []
    for scenario in SCENARIOS:
        by = runs.get(scenario.name, {})
        if {"mm2", "towpath"} <= by.keys():
            ours, theirs = (by[who]["cpu_per_gib"]["copier"] for who in ("towpath", "mm2"))
            ratio = ours / max(theirs, 0.01)
            wanted = scenario.wanted
            reached = "" if wanted is None else "yes" if ratio <= wanted else "**no**"
            rate = by["towpath"]["records_per_s"] / by["mm2"]["records_per_s"]
            limit = "" if wanted is None else f"at most {wanted:.2f}"
            rows.append((scenario.name, limit, f"{ratio:.3f}", reached, f"{rate:.1f}"))
    head = ("change", "CPU / MirrorMaker 2's, wanted", "found", "reached", "rate / its rate")
    yield from table(head, rows)


def _beside_before(runs: dict[str, Any]) -> Iterator[str]:
    rows = [
        (
            scenario.name, f"{by['before']['cpu_per_gib']['copier']}",
            f"{by['towpath']['cpu_per_gib']['copier']}",
            f"{by['towpath']['cpu_per_gib']['copier'] / by['before']['cpu_per_gib']['copier']:.2f}",
            f"{by['towpath']['wire_mib_per_s'] / by['before']['wire_mib_per_s']:.2f}",
        )
        for scenario in SCENARIOS
        if {"before", "towpath"} <= (by := runs.get(scenario.name, {})).keys()
    ]  # fmt: skip
    head = ("change", "CPU s per GiB before", "now", "ratio", "rate / rate before")
    yield from table(head, rows) if rows else ()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/rewrite", description=__doc__)
    parser.add_argument("--size", choices=sorted(SCALES), default="full")
    parser.add_argument("--sets", type=some_of(PARTS), default=PARTS, help=", ".join(PARTS))
    parser.add_argument("--records", type=float, default=1.0, help="factor on the records")
    parser.add_argument("--skip", type=some_of([*COPIERS]), default=(), help=", ".join(COPIERS))
    parser.add_argument("--before", type=Path, help="clone of an earlier build, beside this one")
    parser.add_argument("--home", type=Path, help="folder for the data, removed at the end")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
