"""Items in portions of a limited weight. Pure."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from towpath.model.portions import portions


@given(st.lists(st.integers(0, 9)), st.integers(1, 12), st.integers(1, 4))
def test_light_items_go_together_and_heavy_ones_alone(
    items: list[int], heaviest: int, most: int
) -> None:
    found = [*portions(items, lambda each: each, heaviest, most)]
    assert [each for portion in found for each in portion] == items
    assert all(found)
    assert all(len(portion) <= most for portion in found)
    assert all(sum(portion) <= heaviest or len(portion) == 1 for portion in found)
    for portion, after in pairwise(found):
        assert len(portion) == most or sum(portion) + after[0] > heaviest
