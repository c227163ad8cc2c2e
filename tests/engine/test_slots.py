"""Executors that come and go: when another number of slices counts."""

from __future__ import annotations

from towpath.engine.slots import Slots


def test_another_number_counts_when_two_looks_have_found_it() -> None:
    tells = iter([4, 4, 4, 2, 4, 2, 3, 3, 0, 0, 3, 4, 4])
    slots = Slots(lambda: next(tells), 4, every=0.0)
    found = [(slots.look(), slots.number) for _ in range(13)]
    assert [number for changed, number in found if changed] == [3, 4]
    assert [number for _, number in found] == [4] * 7 + [3] * 5 + [4]  # 0 tells nothing


def test_nobody_is_asked_before_it_is_time() -> None:
    slots = Slots(lambda: 1 // 0, 4, every=60.0)
    assert (slots.look(), slots.number) == (False, 4)


def test_two_rounds_fit_where_there_are_twice_as_many_places_as_slices() -> None:
    places = iter([8, 8, 7, 7])
    slots = Slots(lambda: next(places), 4, every=0.0, most=4)
    told = [(slots.look(), slots.number, slots.doubled) for _ in range(4)]
    assert [(number, doubled) for _, number, doubled in told] == [(4, True)] * 2 + [(4, False)] * 2
    assert not Slots(lambda: 8, 4).doubled, "nobody has looked"
    assert Slots(lambda: 4, 4, here=True).doubled
    asking = Slots(lambda: 8, 4, every=0.0, most=4, asks=True)
    assert (asking.look(), asking.doubled) == (False, False)
