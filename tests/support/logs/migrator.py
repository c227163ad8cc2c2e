"""Records as Redpanda's migrator writes them, and what it does with a record.

`wire/golden/franz-go-migrator` holds what `redpanda_migrator` of Connect 4.106 wrote: raw cluster
ids in the header of provenance, behind the headers of users, and offsets of eight bytes. The rules
are those of its `messageBatchToFranzRecords`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from towpath.wire import plain
from towpath.wire.plain import Record

GOLDEN = Path(__file__).parents[2] / "wire" / "golden" / "franz-go-migrator.bin"
PROVENANCE, OFFSET = b"redpanda-migrator-provenance", b"redpanda-migrator-offset"
OURS, THEIRS, THIRD = "T0wPathTargetCluster00", "R3dpandaSourceCluste00", "redpanda.0c8d5f7e-third"
"""The cluster ids in the records: theirs is where they lie, ours is where a link brings them."""


def recorded(ids: Mapping[str, str] | None = None) -> list[Record]:
    """Return the records.

    Args:
        ids: Other cluster ids, by those in the records.
    """
    known = {old.encode(): new.encode() for old, new in (ids or {}).items()}
    return [
        replace(
            record,
            headers=tuple(
                (name, known.get(value or b"", value) if name == PROVENANCE else value)
                for name, value in record.headers
            ),
        )
        for record in plain.decode(GOLDEN.read_bytes())
    ]


def last(record: Record, name: bytes) -> bytes | None:
    """Return the value of the last header of a name, which counts."""
    return next((value for key, value in reversed(record.headers) if key == name), None)


def connect(record: Record, source: str, destination: str) -> str:
    """Return what Connect does with a record: it fails for ever, leaves it out, or writes it."""
    if PROVENANCE not in dict(record.headers):
        return "written"
    origin = last(record, PROVENANCE) or b""
    if origin in {b"", source.encode()}:
        return "fails"
    return "left out" if origin == destination.encode() else "written"


def as_connect(record: Record, source: str, offset: int) -> Record:
    """Return a record as Connect writes it: with where it comes from, and its offset there."""
    headers = [each for each in record.headers if each[0] not in {PROVENANCE, OFFSET}]
    origin = last(record, PROVENANCE) or source.encode()
    return replace(
        record,
        headers=(*headers, (PROVENANCE, origin), (OFFSET, offset.to_bytes(8, "big"))),
    )
