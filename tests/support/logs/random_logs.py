"""Random logs: consecutive batches, with holes within and between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.logs.batches import CODECS, at_offsets, batch
from towpath.wire.plain import Record


@st.composite
def random_logs(
    draw: st.DrawFn,
    /,
    contents: st.SearchStrategy[list[list[Record]]],
    steps: Sequence[int],
    **more: st.SearchStrategy[Any],
) -> list[bytearray]:
    """Return consecutive batches.

    Args:
        draw: Given by hypothesis.
        contents: The records of each batch.
        steps: From one record to the next, in offsets.
        more: What else `batch` is told of each.
    """
    base, made = draw(st.integers(0, 1 << 40)), []
    for some in draw(contents):
        gaps = draw(st.lists(st.sampled_from(steps), min_size=len(some)))
        places = (base + np.cumsum(gaps[: len(some)])).tolist()
        last = (places[-1] if places else base) + draw(st.integers(0, 2))
        codec, told = draw(st.sampled_from(CODECS)), {key: draw(each) for key, each in more.items()}
        made.append(batch(at_offsets(some, places), codec, base=base, last=last, **told))
        base = last + 1
    return made
