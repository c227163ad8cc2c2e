"""Positions before the begin of a link, by what other links copied there."""

from __future__ import annotations

import pytest

from towpath.groups.earlier import EarlierCopy, earliest
from towpath.ledger.offsets import Exactness, Extent, OffsetMap
from towpath.model.nouns import SourceOffset, TargetOffset

Run = tuple[int, int, int]
EXACT, LOST = Exactness.EXACT, Exactness.LOST


def copied(*runs: Run, start: int = 0, back: bool = True, log_start: int = 0) -> EarlierCopy:
    """Return what a link copied: source start, target start and length of each run."""
    made = [(SourceOffset(s), TargetOffset(t), n) for s, t, n in runs]
    first, last = made[0], made[-1]
    ends = SourceOffset(last[0] + last[2]), TargetOffset(last[1] + last[2])
    extent = Extent(SourceOffset(start), TargetOffset(first[1]), *ends)
    return EarlierCopy(OffsetMap(made, extent, log_start=TargetOffset(log_start)), back)


def place(offset: int, *copies: EarlierCopy, log_start: int = 0) -> tuple[int, Exactness] | None:
    found = earliest(copies, SourceOffset(offset), log_start)
    return None if found is None else (found.offset, found.exactness)


IDENTICAL = copied((0, 0, 10))
MAPPED = copied((0, 3, 4), (6, 7, 6))
"""Offsets 4 and 5 of the first source were markers; three records of others lie before it all."""


@pytest.mark.parametrize("offset", [0, 7, 10])
def test_on_the_way_back_identical_partitions_have_the_same_offset(offset: int) -> None:
    assert place(offset, IDENTICAL) == (offset, EXACT)


@pytest.mark.parametrize(("there", "here"), [(3, 0), (5, 2), (7, 6), (8, 7), (13, 12)])
def test_mapped_ones_are_translated_by_the_first_link_map(there: int, here: int) -> None:
    assert place(there, MAPPED) == (here, EXACT)


@pytest.mark.parametrize("offset", [0, 2, 14])
def test_what_no_link_copied_has_no_place(offset: int) -> None:
    assert place(offset, MAPPED) is None
    assert place(offset) is None


def test_what_the_old_log_has_deleted_meanwhile_is_lost_and_says_so() -> None:
    assert place(7, IDENTICAL, log_start=7) == (7, EXACT)
    assert place(5, IDENTICAL, log_start=7) == (7, LOST)
    found = earliest([IDENTICAL], SourceOffset(5), 7)
    assert found is not None
    assert found.why == "the target has deleted offsets 5 to 6"
    assert found.resumes == 7
    # Of offsets 4 to 5 of the old log no record was copied, so none is missing.
    between = copied((0, 0, 4), (6, 4, 4))
    assert place(4, between, log_start=6) == (6, EXACT)


def test_what_the_map_no_longer_tells_is_bounded() -> None:
    forgotten = copied((6, 6, 4), log_start=6)
    began = EarlierCopy(
        OffsetMap(
            forgotten.offsets.runs,
            Extent(SourceOffset(0), TargetOffset(0), SourceOffset(10), TargetOffset(10)),
            log_start=TargetOffset(6),
        ),
        back=True,
    )
    assert place(2, began) == (6, Exactness.BOUNDED)


def test_a_link_of_the_same_direction_answers_by_its_map_as_it_is() -> None:
    forth = copied((0, 3, 4), (6, 7, 6), back=False)
    assert place(2, forth) == (5, EXACT)
    assert place(2, forth, log_start=6) == (6, LOST)
    assert place(13, forth) is None


def test_where_one_link_ended_and_another_one_began_nothing_is_passed_over() -> None:
    """The second link began later by `latest`: offsets 10 to 19 were not mirrored."""
    second = copied((20, 10, 5), start=20)
    assert place(10, second) == (20, EXACT)
    for copies in ((IDENTICAL, second), (second, IDENTICAL)):
        assert place(10, *copies) == (10, EXACT)
        assert place(12, *copies) == (22, EXACT)
