"""`bench/mirror`: start two clusters, measure, write the results, leave nothing behind."""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.arena import Arena
from bench.copiers import Before, towpath_environment
from bench.data import SETS
from bench.many import PARTITIONS, many
from bench.meter import machine
from bench.pages import RESULTS, publish, some_of
from bench.report import markdown
from bench.suite import COPIERS, SCALES, Results, Suite
from bench.telling import end_on_signals, tell

ROOT = Path(__file__).resolve().parents[1]
LATENCY = "latency"
CHANGES = "changes"
MIXED = "mixed"
"""Not among the parts by default: it has a page of its own."""
MANY = "many"
"""Not among the parts by default: six brokers, and a page of its own."""
INTERRUPTED = "interrupted"
PARTS = (*(each.name for each in SETS), LATENCY, CHANGES)


def main() -> int:
    """Run; return 0 when everything was measured, 1 when something failed."""
    wish = _arguments()
    end_on_signals()
    towpath_environment(ROOT)
    if MANY in wish.sets:
        return many(wish.out, wish.home, wish.partitions, tell)
    Before.clone = wish.before or Before.clone
    found: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "size": wish.size,
        "heap": wish.heap,
        "machine": machine(),
        "before": wish.before and _commit(wish.before),
    }
    with tempfile.TemporaryDirectory(prefix="towpath-bench-", dir=wish.home) as home:
        results = _measured(wish, Path(home))
    found |= dataclasses.asdict(results)
    # What is not the whole must not take the place of the whole.
    whole = set(wish.sets) == set(PARTS) and not wish.skip and INTERRUPTED not in results.trouble
    marks = ("" if wish.size == "full" else f"-{wish.size}") + ("" if whole else "-part")
    name = MIXED if wish.sets == (MIXED,) else f"mirror{marks}"
    file = publish(wish.out, name, found, markdown(found))
    tell(f"written: {file.name}, and the figures beside it")
    return 1 if results.trouble else 0


def _commit(clone: Path) -> str:
    """Return the commit at which a clone stands."""
    command = ["git", "-C", str(clone), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _measured(wish: argparse.Namespace, home: Path) -> Results:
    """Measure what was asked for; an interruption keeps what there is by then."""
    scale = SCALES[wish.size]
    with Arena(home, wish.heap) as arena:
        suite = Suite(arena, home, scale, frozenset(wish.skip), tell)
        try:
            suite.warm_brokers()
            for data in SETS:
                if data.name in wish.sets and wish.before:
                    suite.in_turns(data.scaled(scale.records), wish.rounds)
                elif data.name in wish.sets:
                    suite.measure(data.scaled(scale.records))
            if MIXED in wish.sets:
                suite.mixed(wish.rounds)
            if LATENCY in wish.sets:
                suite.latencies()
            if CHANGES in wish.sets:
                suite.changes()
        except KeyboardInterrupt:
            suite.results.trouble.append(INTERRUPTED)
        return suite.results


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/mirror", description=__doc__)
    parser.add_argument("--size", choices=sorted(SCALES), default="full")
    known = (*PARTS, MIXED, MANY)
    parser.add_argument("--sets", type=some_of(known), default=PARTS, help=", ".join(known))
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help=f"of `{MANY}`")
    parser.add_argument("--before", type=Path, help="clone of an earlier build, beside this one")
    parser.add_argument("--rounds", type=int, default=4, help=f"of `{MIXED}`, and with --before")
    parser.add_argument("--skip", type=some_of([*COPIERS]), default=(), help=", ".join(COPIERS))
    parser.add_argument("--heap", default="1g", help="of each broker")
    parser.add_argument("--home", type=Path, help="folder for the data, removed at the end")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
