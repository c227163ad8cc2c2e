"""One direction is Redpanda Connect's migrator, the other one a link: nothing goes round.

`golden/franz-go-migrator` holds records as the migrator writes them (`redpanda_migrator` of Connect
4.106): raw cluster ids in the header of provenance, behind the headers of users, and offsets of
eight bytes. The rules of Connect are those of its `messageBatchToFranzRecords`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.logs.batches import batch, joined
from tests.support.logs.random_changes import ORIGIN
from towpath.model.changes import AddedHeader, DropRule, HeaderContent, RecordChange
from towpath.model.nouns import ClusterId
from towpath.wire import plain
from towpath.wire.change import Changer
from towpath.wire.opened import open_batches
from towpath.wire.plain import Record
from towpath.wire.reencode import reencode_opened

GOLDEN = Path(__file__).parent / "golden" / "franz-go-migrator.bin"
NAME, OFFSET = b"redpanda-migrator-provenance", b"redpanda-migrator-offset"
OURS, THEIRS, THIRD = "T0wPathTargetCluster00", "R3dpandaSourceCluste00", "redpanda.0c8d5f7e-third"
TWO_WAYS = RecordChange(
    drop=(DropRule(name="from-target", provenance=NAME.decode()),),
    headers=(
        AddedHeader(name=NAME.decode(), content=HeaderContent.REDPANDA_PROVENANCE),
        AddedHeader(name=OFFSET.decode(), content=HeaderContent.REDPANDA_OFFSET),
    ),
)


def recorded() -> list[Record]:
    return [*plain.decode(GOLDEN.read_bytes())]


def copied(records: list[Record], source: str, target: str) -> list[Record]:
    """Return what a link writes that tells records apart by provenance."""
    origin = replace(ORIGIN, source_cluster=ClusterId(source), target_cluster=ClusterId(target))
    made = Changer(change=TWO_WAYS, origin=origin).apply(
        open_batches(*joined([batch(tuple(records))]))
    )
    return [
        record
        for each in reencode_opened(made.opened, max_bytes=1 << 20)
        for record in plain.decode(each.batch)
    ]


def last(record: Record, name: bytes) -> bytes | None:
    return next((value for key, value in reversed(record.headers) if key == name), None)


def connect(record: Record, source: str, destination: str) -> str:
    """Return what Connect does with a record: it fails for ever, leaves it out, or writes it."""
    if NAME not in dict(record.headers):
        return "written"
    origin = last(record, NAME) or b""
    if origin in {b"", source.encode()}:
        return "fails"
    return "left out" if origin == destination.encode() else "written"


def test_records_that_connect_brought_from_our_cluster_do_not_come_back() -> None:
    """Those of a third cluster, and of clients, do; the last header of the name counts."""
    kept = copied(recorded(), THEIRS, OURS)
    assert [each.value for each in kept] == [b"a", b"b", None, b"g", b"i"]
    assert [last(each, NAME) for each in kept] == [
        THEIRS.encode(), THEIRS.encode(), THIRD.encode(), THIRD.encode(), THEIRS.encode(),
    ]  # fmt: skip
    assert [last(each, OFFSET) for each in kept] == [
        offset.to_bytes(8, "big") for offset in (0, 1, 4, 6, 8)
    ]
    assert kept[1].headers[:2] == ((b"trace", b"a"), (b"env", b"test")), "users' headers stay"


def test_records_that_we_brought_from_their_cluster_connect_leaves_out() -> None:
    """It fails for ever on an empty header, and on one that names its own source: we write none."""
    kept = copied(recorded(), THEIRS, OURS)
    done = [connect(each, OURS, THEIRS) for each in kept]
    assert done == ["left out", "left out", "written", "written", "left out"]


@pytest.mark.parametrize("value", [b"", None])
def test_an_empty_header_on_which_connect_fails_names_the_source_behind_us(
    value: bytes | None,
) -> None:
    odd = [Record(b"k", b"v", ((NAME, value),), 5)]
    assert connect(odd[0], THEIRS, OURS) == "fails"
    [kept] = copied(odd, THEIRS, OURS)
    assert last(kept, NAME) == THEIRS.encode()
    assert connect(kept, OURS, THEIRS) == "left out"
