"""Packed runs come back as they were, and are small."""

from __future__ import annotations

import binascii
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledger.runs import transactions
from towpath.ledger.entries import Run
from towpath.ledger.packed import Packer, runs_of, unpack
from towpath.model.errors import LedgerError

number = st.integers(0, 2**62)
runs = st.tuples(number, number, st.integers(0, 2**40))


@given(st.lists(runs, max_size=20))
def test_runs_come_back_in_any_order(some: list[Run]) -> None:
    assert runs_of(Packer(some).text()) == tuple(some)


@given(st.lists(runs, max_size=5), st.lists(runs, min_size=1, max_size=20))
def test_many_runs_are_written_as_one_by_one(before: list[Run], some: list[Run]) -> None:
    many, one = Packer(before), Packer([*before, *some])
    many.add_all(np.array(some, np.int64))
    assert (many.text(), many.count, many.end, many.size) == (
        one.text(), one.count, one.end, one.size
    )  # fmt: skip


@pytest.mark.parametrize(("sizes", "most"), [(range(100, 101), 0.01), (range(50, 150), 1.3)])
def test_a_run_takes_about_the_byte_that_its_length_needs(sizes: range, most: float) -> None:
    some = transactions(60_000, sizes)
    packed = Packer(some).text()
    assert len(packed) / len(some) < most
    assert np.array_equal(unpack(packed), np.array(some))


@pytest.mark.parametrize(
    "text", ["x", "AAAA", binascii.b2a_base64(zlib.compress(b"\1\2"), newline=False).decode()]
)
def test_damaged_runs_are_told(text: str) -> None:
    with pytest.raises(LedgerError, match="runs in the ledger are damaged: "):
        unpack(text)
