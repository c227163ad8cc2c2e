"""The results as a page that people read, with the goals and whether each was reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench.goals import goals

METHOD = """
Source, target, copiers, producer and consumer share the processors above, so only ratios within
this page mean something. For each set the source topic is filled first and hidden by an ACL. Then
each copier is started, copies another topic to be warm, the ACL goes, and the copier finds the
full topic. The clock runs from the first record that the target shows (looked for every 20 ms) to
the last; records that the first look saw do not count. CPU is that of all processes of the copier
(for Towpath: driver, JVM, Python workers) and of each broker within the same time. GiB are of
keys, values and headers, uncompressed. The raw loader sends the same batches from memory by two
plain sockets, one batch per partition in a request, five requests flying, acks=all. MirrorMaker 2
runs with a heap of 1 GiB, tasks.max 8, fetches of 50 MiB, batches of 512 KiB, linger 100 ms (0 for
latency) and the codec of the source; heartbeats, checkpoints and ACL synchronisation are off.
Towpath runs with its defaults on `local[2]`. "Others" is CPU of processes that are none of these.
"""


def markdown(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from (f"# The mirror, measured on {found['date']} (size: {found['size']})", "")
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())
    yield from (f"- heap of each broker: {found['heap']}", "", "## Goals", "")
    yield from table(("goal", "wanted", "found", "reached"), goals(found))
    if clone := found.get("before"):
        yield from ("", f"`before` is the build of commit {clone}.")
    if found.get("before"):
        yield from ("", "## Beside the build before", "", *_beside_before(found["sets"]))
    yield from ("", "## Throughput and cost")
    for name, of_set in found["sets"].items():
        yield from ("", *_set(name, of_set))
    yield from ("", "## Latency", "", *_latency(found), "", "## Idle", "", *_idle(found))
    yield from ("", "## Memory and start", "", *_memory(found))
    yield from ("", "## How it was measured", METHOD.strip())
    if found["trouble"]:
        yield from ("", "## What failed", "", *_trouble(found["trouble"]))


def _beside_before(sets: dict[str, Any]) -> Iterator[str]:
    """Yield the ratios of each set, over all of its turns."""
    yield "Each was as often the first as the second; the fastest turn of each counts, and the one"
    yield "that took least CPU. A pause of a broker takes 0.4 s of either's turn now and then."
    yield ""
    kinds = defaultdict(list)
    for name, of_set in sets.items():
        if {"before", "towpath"} <= of_set.keys():
            kinds[name.rpartition("-")[0]].append((of_set["before"], of_set["towpath"]))
    rows = [
        (
            kind, len(pairs),
            f"{_fastest(now for _, now in pairs) / _fastest(then for then, _ in pairs):.2f}",
            f"{_cheapest(now for _, now in pairs) / _cheapest(then for then, _ in pairs):.2f}",
        )
        for kind, pairs in kinds.items()
    ]  # fmt: skip
    yield from table(("set", "turns", "rate / rate before", "CPU / CPU before"), rows)


def _fastest(runs: Iterable[dict[str, Any]]) -> float:
    return max(float(run["records_per_s"]) for run in runs)


def _cheapest(runs: Iterable[dict[str, Any]]) -> float:
    return max(0.01, min(float(run["cpu_per_gib"]["copier"]) for run in runs))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Return a Markdown table."""
    yield _row(head)
    yield _row(["---"] * len(head))
    for row in rows:
        yield _row(row)


def _row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"


def _set(name: str, of_set: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}: {of_set['about']}"
    yield ""
    ratio = of_set["record_bytes"] / max(1, of_set["wire_bytes"])
    yield (
        f"{of_set['records']:,} records in {of_set['partitions']:,} partitions,"
        f" {of_set['record_bytes'] / 2**20:,.0f} MiB, {ratio:.2f} times their size on the wire."
    )
    yield ""
    head = (
        "who", "records/s", "MiB/s", "wire MiB/s", "seconds", "copier CPU s", "CPU s per GiB",
        "source broker CPU s per GiB", "target broker CPU s per GiB", "others CPU s", "surplus",
    )  # fmt: skip
    yield from table(head, _who(of_set))
    yield ""
    yield from _ratios(of_set)


def _who(of_set: dict[str, Any]) -> Iterator[Sequence[Any]]:
    for who in ("raw", "mm2", "before", "towpath"):
        if (run := of_set.get(who)) is None:
            continue
        per_gib = run["cpu_per_gib"]
        yield (
            who, f"{run['records_per_s']:,}", run["mib_per_s"], run["wire_mib_per_s"],
            f"{run['seconds']:.2f}", f"{run['cpu']['copier']:.2f}", per_gib["copier"],
            per_gib["source"], per_gib["target"], f"{run['cpu']['others']:.1f}",
            run.get("surplus", ""),
        )  # fmt: skip


def _ratios(of_set: dict[str, Any]) -> Iterator[str]:
    ours = of_set.get("towpath")
    if ours is None:
        return
    rate = ours["records_per_s"]
    if (mm2 := of_set.get("mm2")) is not None:
        yield f"- rate of Towpath / MirrorMaker 2: {rate / mm2['records_per_s']:.2f}"
        theirs, own = mm2["cpu_per_gib"]["copier"], ours["cpu_per_gib"]["copier"]
        if theirs and own:
            yield f"- CPU of Towpath / MirrorMaker 2: {own / theirs:.3f} (1 to {theirs / own:.1f})"
    if (limit := of_set.get("raw")) is not None:
        yield f"- rate of Towpath / raw loader: {rate / limit['records_per_s']:.2f}"


def _latency(found: dict[str, Any]) -> Iterator[str]:
    head = (
        "who", "load", "sent/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "largest gap ms",
        "all seen", "copier CPU s", "source CPU s", "target CPU s", "clients and others CPU s",
        "seconds",
    )  # fmt: skip
    yield from table(
        head,
        (
            _window(*each)
            for who, runs in found["latency"].items()
            for run in runs
            for each in ((who, run), *_beside(who, run))
        ),
    )


def _beside(who: str, run: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row of a consumer of the source that took the same records at the same time."""
    if direct := run.get("source"):
        yield f"{who}: the source at the same time", {**run, **direct}


def _window(who: str, run: dict[str, Any]) -> Sequence[Any]:
    cpu, sent = run["cpu"], run["sent"]
    return (
        who, run["load"], f"{sent['sent'] / max(sent['seconds'], 0.1):,.0f}",
        *(run.get(name) for name in ("p50", "p99", "p99.9", "max", "gap")),
        "yes" if run.get("complete") else "no",
        *(f"{cpu[name]:.1f}" for name in ("copier", "source", "target", "others", "seconds")),
    )  # fmt: skip


def _idle(found: dict[str, Any]) -> Iterator[str]:
    yield "CPU seconds per minute in which nothing is written, and under a trickle of 100 records/s"
    yield "into 100 of the 1,000 partitions:"
    yield ""
    head = (
        "who", "idle, 8 partitions", "idle, 1,000 more", "trickle: p50 ms", "p99 ms", "copier",
        "source broker", "target broker",
    )  # fmt: skip
    yield from table(head, (_resting(who, run) for who, run in found["idle"].items()))


def _resting(who: str, run: dict[str, Any]) -> Sequence[Any]:
    trickle = run["trickle"]
    cpu = trickle["cpu"]
    per_minute = 60 / max(cpu["seconds"], 0.1)
    return (
        who, run["cpu_per_minute_before"], run["cpu_per_minute"],
        *(trickle.get(name) for name in ("p50", "p99")),
        *(f"{cpu[name] * per_minute:.1f}" for name in ("copier", "source", "target")),
    )  # fmt: skip


def _memory(found: dict[str, Any]) -> Iterator[str]:
    yield "Peak resident memory of each process in MiB, and seconds from the start of the program"
    yield "to its first record on the target, of each start:"
    yield ""
    yield from (
        f"- {who}: {', '.join(map(str, seconds))} s"
        for who, seconds in found["first_record_s"].items()
    )
    yield ""
    rows = [
        (run, role, ", ".join(map(str, sizes)))
        for run, roles in found["peak_mib"].items()
        for role, sizes in roles.items()
    ]
    yield from table(("run", "process", "MiB"), rows)


def _trouble(trouble: Iterable[str]) -> Iterator[str]:
    for text in trouble:
        yield f"- {text.splitlines()[0]}"
