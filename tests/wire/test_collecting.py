from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.batches import CODECS, RECORD, batch, digest_of, numbered
from towpath.wire.collector import Collector
from towpath.wire.digest import Digest
from towpath.wire.intake import collect
from towpath.wire.plain import Record

LISTS = st.lists(RECORD, min_size=1, max_size=8).map(numbered)


@given(LISTS, st.sampled_from(CODECS))
def test_who_wants_no_digest_gets_the_same_records(some: Sequence[Record], codec: int) -> None:
    raw = np.frombuffer(batch(some, codec), np.uint8)
    kinds = Collector(0), Collector(0, digested=False)
    for each in kinds:
        assert len([*collect(each, raw, 0, len(raw))]) == 1
    whole, light = kinds
    assert whole.drain() == light.drain()
    assert whole.rows == light.rows == len(some)
    assert (whole.digest, light.digest) == (digest_of(batch(some)), Digest())
