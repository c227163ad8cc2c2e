"""The schema registries of the demo: `python scripts/registries.py serve|write|compare|read ...`.

`serve FOLDER` starts a registry for each side until it is stopped; `FOLDER/urls` has their
addresses. `write BOOTSTRAP URL` registers schemas in three formats, with references, and writes
records that name them. `compare SOURCE TARGET` proves that two registries answer equally. `read
BOOTSTRAP URL` reads those records with Confluent's deserializers, which ask that registry alone.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient
from tests.support.clients.serialized import FORMATS, read, write
from tests.support.kafka import create_topic
from tests.support.registries.registry import LocalRegistry, fetch, record

_PREFIX, _COUNT = "shop", 1000


def serve(folder: Path) -> None:
    """Run two registries until SIGTERM."""
    program = fetch()
    if program is None:
        sys.exit("the schema registry of the demo is built with Go, and there is no `go` on PATH")
    for end in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(end, lambda *_: sys.exit())
    sides = [LocalRegistry(program, folder / name) for name in ("source", "target")]
    try:
        # A target that is in use has schemas of its own, under ids that the source gives to others.
        for number in range(3):
            sides[1].register(f"other-{number}", record(f"Other{number}", "x"))
        # The source has been in use for long: its ids are not those of a new registry.
        sides[0].ask("PUT", "/mode", {"mode": "IMPORT"})
        sides[0].register("old", record("Old", "x"), id=100, version=1)
        sides[0].ask("PUT", "/mode", {"mode": "READWRITE"})
        made = folder / "urls.new"
        made.write_text(" ".join(each.url for each in sides) + "\n")
        made.rename(folder / "urls")
        signal.pause()
    finally:
        for each in sides:
            each.stop()


def fill(bootstrap: str, url: str) -> str:
    """Write records in each format; return a sentence about it."""
    for each in FORMATS:
        create_topic(bootstrap, f"{_PREFIX}-{each}", 2)
    write(bootstrap, url, _PREFIX, _COUNT)
    return f"{_COUNT:,} records each in {', '.join(FORMATS)}, each with a reference to another"


def compared(source: str, target: str) -> Iterator[str]:
    """Yield what both registries have for each version of the source; exit if they differ."""
    with (
        SchemaRegistryClient({"url": source}) as ours,
        SchemaRegistryClient({"url": target}) as theirs,
    ):
        there = set(theirs.get_subjects())
        for subject in sorted(ours.get_subjects()):
            for number in ours.get_versions(subject):
                mine = ours.get_version(subject, number)
                other = theirs.get_version(subject, number) if subject in there else None
                if other is None or (mine.schema_id, mine.schema) != (
                    other.schema_id,
                    other.schema,
                ):
                    sys.exit(f"{subject} version {number}: the target has another one, or none")
                yield f"{subject} version {number}: id {mine.schema_id}, equal on both sides"


def main(arguments: list[str]) -> None:
    """Do what the module says."""
    match arguments:
        case ["serve", folder]:
            serve(Path(folder))
        case ["write", bootstrap, url]:
            sys.stdout.write(fill(bootstrap, url) + "\n")
        case ["compare", source, target]:
            for text in compared(source, target):
                sys.stdout.write(text + "\n")
        case ["read", bootstrap, url]:
            for name, rows in read(bootstrap, url, _PREFIX, _COUNT).items():
                total = sum(row["price"]["cents"] for row in rows)
                sys.stdout.write(f"{name}: {len(rows):,} records, {total / 100:,.2f} EUR in all\n")
        case _:
            sys.exit("usage: python scripts/registries.py serve|write|compare|read ...")


if __name__ == "__main__":
    main(sys.argv[1:])
