"""The page of a soak, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.report import table
from bench.soaking.faults import Outcome
from bench.soaking.kinds import KINDS
from bench.soaking.samples import ROLES, rows, segments
from bench.soaking.slope import SHORTEST, Segment, Slope, slope
from bench.soaking.stage import SOURCE_VERSION
from bench.soaking.wish import Wish

if TYPE_CHECKING:
    from bench.soaking.main import Found

WARM = 300.0
"""Seconds of a run's life that do not count for slopes; in short soaks an eighth of the soak."""
AFTER = 10.0
"""Seconds after a fault in which producers bring what they could not send meanwhile."""
Figures = dict[str, Any]


def figures(asked: Wish, found: Found) -> Figures:
    """Return all figures of a soak; `rises` has a sentence for each memory that rises too fast."""
    warm = min(WARM, asked.seconds / 8)
    cut = {role: segments(found.samples, role, warm) for role in ROLES}
    slopes = {role: slope(parts) for role, parts in cut.items()}
    return {
        "memory": {role: _memory(found, role, cut[role], slopes[role]) for role in ROLES},
        "rises": [
            f"memory of {role} rises by {told} MiB an hour, more than {asked.limit:.0f}"
            for role, told in slopes.items()
            if told is not None and _judged(asked, told) and told.rises_by_more(asked.limit)
        ],
        "judged": any(told is not None and _judged(asked, told) for told in slopes.values()),
        "cpu": _cores(found),
        "lag": _lags(found),
        "faults": [asdict(each) for each in found.faults],
        "records": found.records,
        "groups": found.groups,
        "codes": found.codes,
        "ended": found.ended,
        "samples": rows(found.samples),
    }


def _judged(asked: Wish, told: Slope) -> bool:
    """Whether a slope proves something: it is long enough, and no profile takes memory."""
    return told.hours >= SHORTEST and asked.profile != "memory"


def _memory(found: Found, role: str, parts: Sequence[Segment], told: Slope | None) -> Figures:
    sizes = [sample.total(role) for sample in found.samples if role in sample.memory]
    numbers = [len(sample.memory.get(role, {})) for sample in found.samples]
    return {
        "processes": max(numbers, default=0),
        "peak_mib": round(max(sizes, default=0)),
        "slope": None if told is None else asdict(told),
        "segments": [
            {
                "from_s": round(part[0][0]),
                "to_s": round(part[-1][0]),
                "first_mib": round(part[0][1]),
                "last_mib": round(part[-1][1]),
                "highest_mib": round(max(size for _, size in part)),
            }
            for part in parts
            if len(part) > 1
        ],
    }


def _cores(found: Found) -> dict[str, float]:
    """Return the mean number of busy cores by role and side."""
    if len(found.samples) < 2:
        return {}
    first, last = found.samples[0], found.samples[-1]
    return {
        name: round((spent - first.cpu.get(name, 0.0)) / (last.at - first.at), 3)
        for name, spent in last.cpu.items()
    }


def _lags(found: Found) -> Figures:
    spans = [_span(each) for each in found.faults]
    calm = [lag for at, lag in found.lags if not any(begin <= at <= end for begin, end in spans)]
    return {"all": _shares([lag for _, lag in found.lags]), "outside of faults": _shares(calm)}


def _span(outcome: Outcome) -> tuple[float, float]:
    return outcome.began, outcome.began + outcome.lasted + (outcome.recovered or 0.0) + AFTER


def _shares(lags: Sequence[int]) -> dict[str, int]:
    ordered = sorted(lags)
    if not ordered:
        return {"looks": 0, "p50": 0, "p99": 0, "max": 0}
    at = {name: ordered[min(len(ordered) - 1, int(len(ordered) * share))]
          for name, share in (("p50", 0.5), ("p99", 0.99))}  # fmt: skip
    return {"looks": len(ordered), **at, "max": ordered[-1]}


def page(asked: Wish, told: Mapping[str, str], found: Found, figured: Figures) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from (f"# Soak of {_long(asked.seconds)}", "")
    calm = " --calm" if asked.calm else ""
    yield f"`scripts/soak --topics {asked.topics} --rate {asked.rate} --for {asked.seconds}s"
    yield f"--seed {asked.seed}{calm}`: {asked.topics} topics of {asked.partitions} partitions,"
    yield f"one broker a side (source Kafka {SOURCE_VERSION}, target {told['kafka']}), two schema"
    yield "registries, three consumer groups that commit, producers that are idempotent or write in"
    yield "transactions. How it works stands in `bench/README.md`."
    yield from ("", f"**Verdict: {_verdict(found, figured)}**", "")
    yield from (f"- {problem}" for problem in found.problems)
    yield from ("", "## Records", "", *_records(figured))
    yield from ("", "## Memory", "", *_memory_lines(asked, figured))
    yield from ("", "## Lag", "", *_lag_lines(figured))
    yield from ("", "## Faults", "", *_faults(found))
    yield from ("", "## CPU", "", *_cpu_lines(figured))
    yield from ("", "## Machine", "")
    yield from (f"- {name}: {value}" for name, value in told.items())


def _long(seconds: int) -> str:
    return f"{seconds // 60} minutes" if seconds >= 60 else f"{seconds} seconds"


def _verdict(found: Found, figured: Figures) -> str:
    if found.problems:
        return f"failed, {len(found.problems)} problems"
    memory = "memory flat" if figured["judged"] else "memory not judged"
    return f"nothing lost, nothing doubled, all changed as the file says, groups exact, {memory}"


def _records(figured: Figures) -> Iterator[str]:
    about = {kind.name: kind.about for kind in KINDS}
    head = ("kind", "what", "topics", "at the source", "compared", "of earlier topics, kept")
    numbers = ("topics", "written", "compared", "earlier")
    yield from table(
        head,
        [
            (name, about[name], *(f"{told[number]:,}" for number in numbers))
            for name, told in figured["records"].items()
        ],
    )
    yield ""
    yield "An independent consumer read every record of both sides, changed those of the source as"
    yield "the link must, and compared key, value, headers, time and offset. Records of earlier"
    yield "topics are those of topics that were deleted, made again and kept on the target; only"
    yield "their number is compared. Exit codes at the end: "
    yield ", ".join(f"`towpath {name}` {code}" for name, code in figured["codes"].items()) + "."
    yield "Read by the groups: "
    yield ", ".join(f"{name} {count:,}" for name, count in figured["groups"].items()) + "."


def _memory_lines(asked: Wish, figured: Figures) -> Iterator[str]:
    head = ("processes", "at most", "peak MiB", "MiB an hour", "± (one sigma)", "samples",
            "segments", "hours")  # fmt: skip
    lines = []
    for role, told in figured["memory"].items():
        line = told["slope"]
        if line is None:
            lines.append((role, told["processes"], told["peak_mib"], *([""] * 5)))
            continue
        lines.append((
            role, told["processes"], told["peak_mib"], f"{line['per_hour']:+.1f}",
            f"{line['error']:.1f}", line["samples"], line["segments"], f"{line['hours']:.2f}",
        ))  # fmt: skip
    yield from table(head, lines)
    yield ""
    yield "Resident memory every 10 s, summed by role; one slope by least squares, with a level of"
    yield "its own for each stretch between two starts or ends of such a process (`segments`),"
    yield "without the first minutes of its youngest process. The error is widened for samples that"
    yield f"resemble their neighbours. The limit is {asked.limit:.0f} MiB an hour, above twice the"
    yield f"error, for slopes of {60 * SHORTEST:.0f} minutes and more. Pages that forks share count"
    yield "for each."
    yield from ("", "Stretches of more than a minute, MiB at their beginning, end and highest:", "")
    stretches = [
        (role, f"{part['from_s']} to {part['to_s']} s", part["first_mib"], part["last_mib"],
         part["highest_mib"])
        for role, told in figured["memory"].items()
        for part in told["segments"]
        if part["to_s"] - part["from_s"] > 60
    ]  # fmt: skip
    yield from table(("processes", "stretch", "first", "last", "highest"), stretches)


def _lag_lines(figured: Figures) -> Iterator[str]:
    yield from table(
        ("source offsets not copied", "looks", "p50", "p99", "max"),
        [(name, *told.values()) for name, told in figured["lag"].items()],
    )
    yield ""
    yield "Looked for every second, in partitions with equal offsets. A fault lasts until all is"
    yield f"copied that the source had when it was undone, and {AFTER:.0f} s more, while producers"
    yield "bring what they could not send."


def _faults(found: Found) -> Iterator[str]:
    yield from table(
        ("at, s", "fault", "hit", "lasted, s", "all copied after, s"),
        [
            (each.began, each.fault.what, each.victim, each.lasted,
             "never" if each.recovered is None else each.recovered)
            for each in found.faults
        ],
    )  # fmt: skip
    yield from ("", f"Starts of the run that ended by themselves: {len(found.ended)}.")
    yield from (f"- {text.splitlines()[0]}" for text in found.ended)


def _cpu_lines(figured: Figures) -> Iterator[str]:
    cores = figured["cpu"]
    yield from table(
        ("process", "busy cores, mean"), [*cores.items(), ("all", f"{sum(cores.values()):.2f}")]
    )
