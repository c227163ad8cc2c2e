"""Seconds, requests and memory of a first sync of thousands of subjects, and of later looks."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.support.registries.registry import LocalRegistry, fetch
from tests.support.registries.schema_worlds import Bringing

from bench.meter import MIB, machine
from bench.pages import RESULTS, publish
from bench.report import table

PARTS = "few", "shared", "many"
"""What can be measured: many subjects, many with one schema, four times as many schemas."""
_MEMORY = "2GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the source has.

    Attributes:
        title: What it is, for people.
        subjects: How many subjects.
        versions: How many versions each has.
        shared: Whether all subjects have the same schemas.
    """

    title: str
    subjects: int
    versions: int = 1
    shared: bool = False

    @property
    def schemas(self) -> int:
        """How many versions there are."""
        return self.subjects * self.versions

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield subjects and schemas of about 1.2 KB, in the order of registration."""
        for number in range(self.versions):
            for subject in range(self.subjects):
                name = "Shared" if self.shared else f"Record{subject:05}"
                yield f"topic-{subject:05}-value", _text(name, 8 + number)


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a measurement took; memory is the peak of the process so far, in MiB."""

    what: str
    seconds: float
    cpu: float
    requests: int
    peak: int


def _text(name: str, fields: int) -> str:
    field = {"type": ["null", "long"], "default": None, "doc": "What this field is about, in words"}
    made = [{"name": f"measurement_{number:02}", **field} for number in range(fields)]
    return json.dumps({"type": "record", "name": name, "namespace": "bench", "fields": made})


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subjects", type=int, default=10_000)
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    parser.add_argument("--looks", type=int, default=20, help="looks in a row, for their mean")
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    if fetch() is None:
        raise SystemExit("the schema registry is built with Go, and there is none")
    few, many = f"{wish.subjects:,}", f"{4 * wish.subjects:,}"
    worlds = [
        World(title=f"{few} subjects with one version each", subjects=wish.subjects),
        World(title=f"{few} subjects with the same schema", subjects=wish.subjects, shared=True),
        World(
            title=f"{many} schemas: {few} subjects with four versions each",
            subjects=wish.subjects,
            versions=4,
        ),
    ]
    told, found = machine(), []
    for part, world in zip(PARTS, worlds, strict=True):
        if wish.only not in {None, part}:
            continue
        # A process of its own, whose memory is that of this world.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            found.append((world, alone.submit(_measured, world, wish.looks).result()))
    data = {
        "machine": told,
        "worlds": [{**asdict(world), "parts": [*map(asdict, parts)]} for world, parts in found],
    }
    name = "schemas" + (f"-{wish.only}" if wish.only else "")
    publish(wish.out, name, data, _page(told, found, wish.looks))


def _measured(world: World, looks: int) -> list[Part]:
    with _registries() as (ours, theirs):
        _fill(ours.url, world)
        return _measure(ours, theirs, world, looks)


@contextmanager
def _registries() -> Iterator[tuple[LocalRegistry, LocalRegistry]]:
    program = fetch()
    assert program is not None  # noqa: S101, `main` has looked
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        names = ("source", "target")
        sides = [LocalRegistry(program, Path(folder) / name, memory=_MEMORY) for name in names]
        try:
            yield sides[0], sides[1]
        finally:
            for each in sides:
                each.stop()


def _fill(url: str, world: World) -> None:
    with httpx.Client() as http:
        for subject, text in world.texts():
            path = f"{url}/subjects/{subject}/versions"
            http.post(path, json={"schema": text}).raise_for_status()


def _measure(ours: LocalRegistry, theirs: LocalRegistry, world: World, looks: int) -> list[Part]:
    found = [Part("begin", 0.0, 0.0, 0, _peak())]
    sides = {"source": {"url": ours.url}, "target": {"url": theirs.url}}

    def part(what: str, link: Bringing, do: Callable[[], object], times: int = 1) -> None:
        requests, began, cpu = link.requests, time.monotonic(), time.process_time()
        for _ in range(times):
            do()
        seconds, spent = time.monotonic() - began, time.process_time() - cpu
        asked = round((link.requests - requests) / times)
        found.append(Part(what, round(seconds / times, 2), round(spent / times, 2), asked, _peak()))
        print(world.title, found[-1], file=sys.stderr)

    with Bringing(sides) as link:
        part("first sync", link, link.sync)
        if link.failed:
            raise SystemExit(f"{len(link.failed)} steps failed: {next(iter(link.failed.values()))}")
        part("the look behind it", link, link.sync)
        part("a look when nothing has changed", link, link.look, looks)
        ours.register("topic-00001-value", _text("Shared" if world.shared else "Record00001", 20))
        part("one subject has a new version", link, link.sync)
        part("verify: ask for every id", link, lambda: link.client.compared(ask=True))
    with Bringing(sides) as link:
        part("a look by another process", link, link.look)
    missing = ours.schemas().items() - theirs.schemas().items()
    if missing or len(ours.schemas()) != world.schemas + 1:
        raise SystemExit(f"{len(missing)} versions are not on the target")
    return found


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB)


def _page(told: dict[str, Any], found: list[tuple[World, list[Part]]], looks: int) -> Iterator[str]:
    yield "# Schemas between two registries"
    yield ""
    yield from (f"- {name}: {value}" for name, value in told.items())
    yield ""
    yield (
        "Schemas are Avro, of about 1.2 KB. Ids are kept, so each subject goes into IMPORT and"
        " back; each version is read at the source, registered, and read back. Peak MiB is memory"
        " of Towpath, with its journal; registries are other processes, on the same two processors."
        f" A look when nothing has changed is the mean of {looks}. Both registries end with the"
        " same versions and ids, which is checked."
    )
    heads = ("part", "seconds", "CPU s", "requests", "per schema", "peak MiB")
    for world, parts in found:
        yield from ("", f"## {world.title}", "")
        rows = [
            (
                each.what,
                each.seconds,
                each.cpu,
                f"{each.requests:,}",
                f"{each.requests / world.schemas:.3f}",
                each.peak,
            )
            for each in parts
        ]
        yield from table(heads, rows)


if __name__ == "__main__":
    main()
