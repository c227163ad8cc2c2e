"""What is referred to comes first, and older versions come before newer ones."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from towpath.model.schemas import SchemaId, SchemaReference, SchemaVersion, SubjectName
from towpath.schemas.observed_schemas import SeenVersion
from towpath.schemas.order import cycle, waves

World = dict[SubjectName, dict[int, SeenVersion]]


def world(made: list[tuple[str, list[tuple[str, int]]]]) -> World:
    """Return subjects whose versions were registered in this order."""
    found: World = {}
    for number, (name, needs) in enumerate(made):
        versions = found.setdefault(SubjectName(name), {})
        references = tuple(SchemaReference(f"{s}.{v}", SubjectName(s), v) for s, v in needs)
        versions[len(versions) + 1] = SeenVersion(SchemaId(number), str(number), references)
    return found


@st.composite
def histories(draw: st.DrawFn) -> World:
    """Return subjects as a registry could hold them: each version refers to what was there."""
    made: list[tuple[str, list[tuple[str, int]]]] = []
    counts: dict[str, int] = {}
    for _ in range(draw(st.integers(1, 30))):
        name = draw(st.sampled_from("abcdefgh"))
        there = [(s, v) for s, n in counts.items() for v in range(1, n + 1)]
        needs = draw(st.lists(st.sampled_from(there), max_size=3)) if there else []
        made.append((name, needs))
        counts[name] = counts.get(name, 0) + 1
    return world(made)


@given(histories(), st.integers(1, 5), st.randoms())
def test_any_history_can_be_registered_again(
    versions: World, most: int, rng: random.Random
) -> None:
    todo = {
        name: [number for number in numbers if rng.random() < 0.7]
        for name, numbers in versions.items()
    }
    found, left = waves(todo, versions, most)
    assert not left
    wanted = {SchemaVersion(name, n) for name, numbers in todo.items() for n in numbers}
    open_ = set(wanted)
    for wave in found:
        before = set(open_)
        for name, numbers in wave.items():
            assert 1 <= len(numbers) <= most
            for number in numbers:
                at = SchemaVersion(name, number)
                assert min(n for s, n in open_ if s == name) == number  # the oldest first
                for each in versions[name][number].references:
                    # Of other subjects only what earlier waves have registered.
                    assert each.to not in (open_ if each.subject == name else before)
                open_.remove(at)
    assert not open_
    assert cycle(left, versions) == ()


def test_a_circle_is_named_and_stops_nothing_else() -> None:
    versions = world([("a", [("b", 1)]), ("b", [("c", 1)]), ("c", [("a", 1)]), ("d", [])])
    found, left = waves({name: [1] for name in versions}, versions, 10)
    assert found == [{"d": (1,)}]
    assert set(left) == {"a", "b", "c"}
    assert {at.subject for at in cycle(left, versions)} == {"a", "b", "c"}


def test_subjects_may_refer_to_each_other_where_their_versions_do_not() -> None:
    versions = world([("a", []), ("b", [("a", 1)]), ("a", [("b", 1)])])
    found, left = waves({name: [*numbers] for name, numbers in versions.items()}, versions, 10)
    assert (found, left) == ([{"a": (1,)}, {"b": (1,)}, {"a": (2,)}], {})
