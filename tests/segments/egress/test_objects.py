"""Objects wait in memory that is used again, and in a file of the machine if they are large."""

from __future__ import annotations

import random

import pytest

from towpath.segments.egress import objects
from towpath.segments.egress.objects import Spool
from towpath.store.objects import Data
from towpath.wire.spare import Spares


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 399, 400, 401, 1000])
def test_a_spool_gives_back_what_was_written(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_PIECE", 100)
    monkeypatch.setattr(objects, "_IN_MEMORY", 4)
    monkeypatch.setattr(objects, "_SPARE", Spares(4))
    for _ in range(2):  # the second one has the memory of the first one
        written = random.randbytes(size)
        spool, at = Spool(), 0
        while at < size:
            step = random.choice([1, 30, 100, 250])
            at += spool.write(memoryview(written)[at : at + step])
        for _ in range(2):  # another key may be tried
            pieces = list[Data]()
            spool.copy(pieces.append)
            assert b"".join(pieces) == written
            assert all(len(each) == 100 for each in pieces[:-1])
        spool.close()
