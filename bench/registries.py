"""Seconds and requests of a first sync of ten thousand subjects, and of later looks."""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.registry import LocalRegistry, fetch, record
from tests.support.schema_worlds import Bringing

from bench.meter import MIB, machine
from bench.report import table

SHARED = 10
"""Of so many subjects, one has the same schema as the others of its kind."""


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subjects", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    wish = parser.parse_args()
    program = fetch()
    if program is None:
        raise SystemExit("the schema registry is built with Go, and there is none")
    told = machine()
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        ours = LocalRegistry(program, Path(folder) / "source")
        theirs = LocalRegistry(program, Path(folder) / "target")
        try:
            _fill(ours, wish.subjects)
            found = _measure(ours, theirs, wish.subjects)
        finally:
            ours.stop()
            theirs.stop()
    name = f"{datetime.now(UTC).date()}-schemas"
    data = {"machine": told, "subjects": wish.subjects, "parts": found}
    (wish.out / f"{name}.json").write_text(json.dumps(data, indent=2) + "\n")
    page = "\n".join(_page(told, wish.subjects, found)) + "\n"
    (wish.out / f"{name}.md").write_text(page)
    print(page)


def _fill(registry: LocalRegistry, subjects: int) -> None:
    for number in range(subjects):
        shared = number % SHARED == 0
        text = record("Shared" if shared else f"Record{number}", "a", "b", "c")
        registry.register(f"topic-{number:05}-value", text)


def _measure(ours: LocalRegistry, theirs: LocalRegistry, subjects: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    sides = {"source": {"url": ours.url}, "target": {"url": theirs.url}}
    with Bringing(sides) as link:

        def part(what: str, do: Callable[[], object]) -> None:
            requests, began, cpu = link.requests, time.monotonic(), time.process_time()
            do()
            found.append(
                {
                    "what": what,
                    "seconds": round(time.monotonic() - began, 2),
                    "cpu": round(time.process_time() - cpu, 2),
                    "requests": link.requests - requests,
                    "peak_mib": round(_peak() / MIB),
                }
            )

        part("first sync", link.sync)
        part("look again, nothing has changed", link.sync)
        ours.register("topic-00001-value", record("Record1", "a", "b", "c", "d"))
        part("one subject has a new version", link.sync)
        part("verify: ask the target for every id", lambda: link.client.compared(ask=True))
    with Bringing(sides) as link:
        part("look by another process", link.sync)
    missing = ours.schemas().items() - theirs.schemas().items()
    if missing or len(ours.schemas()) != subjects + 1:
        raise SystemExit(f"{len(missing)} versions are not on the target")
    return found


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _page(told: dict[str, Any], subjects: int, found: list[dict[str, Any]]) -> list[str]:
    rows = [
        (
            each["what"],
            each["seconds"],
            each["cpu"],
            f"{each['requests']:,}",
            f"{each['requests'] / subjects:.2f}",
            each["peak_mib"],
        )
        for each in found
    ]
    heads = ("part", "seconds", "CPU s", "requests", "per subject", "peak MiB")
    return [
        f"# Schemas: {subjects:,} subjects between two registries",
        "",
        *(f"- {name}: {value}" for name, value in told.items()),
        "",
        f"Each subject has one version; one of {SHARED} has the same schema as others. Ids are"
        " kept, so each subject goes into IMPORT and back. The journal is in memory. Registries and"
        " Towpath share the processors. Both registries end with the same versions and ids, which"
        " is checked.",
        "",
        *table(heads, rows),
    ]


if __name__ == "__main__":
    main()
