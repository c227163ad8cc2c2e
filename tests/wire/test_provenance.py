"""One direction is Redpanda Connect's migrator, the other one a link: nothing goes round."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.logs.batches import batch, joined
from tests.support.logs.migrator import (
    OFFSET,
    OURS,
    PROVENANCE,
    THEIRS,
    THIRD,
    connect,
    last,
    recorded,
)
from tests.support.logs.random_changes import ORIGIN
from towpath.model.changes import AddedHeader, DropRule, HeaderContent, RecordChange
from towpath.model.nouns import ClusterId
from towpath.wire import plain
from towpath.wire.change import Changer
from towpath.wire.opened import open_batches
from towpath.wire.plain import Record
from towpath.wire.reencode import reencode_opened

TWO_WAYS = RecordChange(
    drop=(DropRule(name="from-target", provenance=PROVENANCE.decode()),),
    headers=(
        AddedHeader(name=PROVENANCE.decode(), content=HeaderContent.REDPANDA_PROVENANCE),
        AddedHeader(name=OFFSET.decode(), content=HeaderContent.REDPANDA_OFFSET),
    ),
)


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


def test_records_that_connect_brought_from_our_cluster_do_not_come_back() -> None:
    """Those of a third cluster, and of clients, do; the last header of the name counts."""
    kept = copied(recorded(), THEIRS, OURS)
    assert [each.value for each in kept] == [b"a", b"b", None, b"g", b"i"]
    assert [last(each, PROVENANCE) for each in kept] == [
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
    odd = [Record(b"k", b"v", ((PROVENANCE, value),), 5)]
    assert connect(odd[0], THEIRS, OURS) == "fails"
    [kept] = copied(odd, THEIRS, OURS)
    assert last(kept, PROVENANCE) == THEIRS.encode()
    assert connect(kept, OURS, THEIRS) == "left out"
