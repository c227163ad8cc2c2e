"""Merged chunks tell what the small ones told."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledger.books import opened
from tests.support.ledger.runs import transactions
from towpath.ledger.books import LinkBooks
from towpath.ledger.chunks import Incarnation, slim, tidied
from towpath.ledger.entries import Entry, Runs
from towpath.ledger.offset_runs import joined
from towpath.ledger.packed import Packer, runs_of
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    TopicName,
    TopicPartition,
)

OF = Incarnation(LinkName("l"), TopicPartition(TopicName("t"), 0), ProducerId(1))
OPENED = opened(OF.tp, mode=Mode.MAPPED)


def chunks(sizes: list[int], seed: int = 1) -> list[Runs]:
    """Return chunks of so many runs, some of which lie in two of them, in any order."""
    runs = transactions(sum(sizes), range(1, 9))
    made, at = [], 0
    for size in sizes:
        made.append(OF.chunk(Packer(runs[max(0, at - 2) : at + size]), f"c{at}"))
        at += size
    random.Random(seed).shuffle(made)
    return made


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(0, 400))
def test_the_map_stays_the_same_behind_the_floor(sizes: list[int], behind: int) -> None:
    old, floor = chunks(sizes), 10**8 + behind
    made, removed = tidied(OF, old, floor)
    books = LinkBooks(OF.link)
    facts: list[Entry] = [OPENED, *old, *made, *removed]
    for entry in facts:
        books.take(entry)
    wanted = joined([run for chunk in old for run in runs_of(chunk.packed)]).tolist()
    known = books.of(OF.tp).offsets().runs
    assert [run for run in known if run[1] + run[2] > floor] == [
        tuple(run) for run in wanted if run[1] + run[2] > floor
    ]
    assert not removed or len(removed) > len(made)


def test_large_chunks_are_not_merged_again() -> None:
    (large,) = chunks([40_000])
    few = chunks([5] * 7)
    assert slim(large).packed == ""
    assert slim(few[0]) == few[0]
    assert tidied(OF, [slim(large), *few], 0) == ([], [])
    made, removed = tidied(OF, [slim(large), *chunks([5] * 9)], 0)
    assert (len(made), len(removed)) == (1, 9)
