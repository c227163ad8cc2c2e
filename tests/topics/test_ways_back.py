"""A link in the other direction begins where the first one was cut over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import commit_with
from tests.support.copying.chaos import delete_topic
from tests.support.kafka import consume, create_topic
from tests.support.mirror import Mirror
from tests.support.subjects.ways_back import COPIED, There, cut_over, outcomes, values, write
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.verify.ranges import Bounds, common_range
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.model.reasons import ReasonCode

pytestmark = pytest.mark.broker


@pytest.fixture
def there(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> There:
    made = There(Mirror(tmp_path, source, target, new_name("back")))
    made.mirror.create(2)
    for partition in (0, 1):
        write(source, made.topic, "old", COPIED, partition)
    with open_link(made.mirror.config) as opened:
        opened.prepare()
    made.mirror.catch_up()
    cut_over(made.mirror)
    return made


def said(mirror: Mirror) -> tuple[str, str]:
    """Return the problems and the notes of a plan about the topic."""
    plan = build(mirror.config)
    about = mirror.topic
    problems = [each.text for each in plan.problems if each.about == about]
    return "; ".join(problems), "; ".join(n.text for n in plan.notes if n.about == about)


@pytest.mark.parametrize("start", ["earliest", "latest", "2020-01-01T00:00:00Z"])
def test_wherever_the_file_lets_it_begin_it_begins_at_the_cut(there: There, start: str) -> None:
    write(there.mirror.target, there.topic, "new", 5)
    back = there.link("way", start=start)
    problems, notes = said(back)
    assert not problems
    assert "copied back from the cutover of " in notes
    assert f"(partition 0 from offset {COPIED}, partition 1 from offset {COPIED})" in notes
    [work] = back.slices()
    assert [each.start for each in work.assignments] == [COPIED, COPIED]


def test_what_clients_wrote_comes_back_once_and_nothing_else_does(there: There) -> None:
    old, new, topic = there.mirror.source, there.mirror.target, there.topic
    write(new, topic, "new", 5)
    write(new, topic, "new", 3, 1)
    write(old, topic, "stray", 2, 1)
    back = there.link("way")
    problems, notes = said(back)
    assert not problems
    assert "offsets 10 to 11 of partition 1 were written on the target behind the cutover" in notes
    assert "partition 1: the target" in notes, "it is mapped"
    for _ in range(2):
        back.catch_up()
        assert consume(old.bootstrap, topic, (0,)) == consume(new.bootstrap, topic, (0,))
        assert values(old, topic, 1)[COPIED:] == ["stray0", "stray1", "new0", "new1", "new2"]
    books = back.books(0)
    assert books.opened is not None
    assert books.opened.source_start == COPIED
    assert len(values(new, topic)) == COPIED + 5

    # Behind a cutover of the way back, the first link would copy its records once more.
    cut_over(back)
    write(old, topic, "again", 4)
    problems, _ = said(there.mirror)
    assert f"partition 0 would go on at offset {COPIED}, before the cutover of " in problems
    assert "`topics.shared: true`" in problems
    there.mirror.catch_up()
    assert len(values(new, topic)) == COPIED + 5, "it copies nothing"
    third = there.link("third", back=False, start="earliest", more="  shared: true\n")
    assert said(third)[0] == ""
    third.catch_up()
    assert values(new, topic)[COPIED:] == [
        *(f"new{n}" for n in range(5)),
        *(f"again{n}" for n in range(4)),
    ]
    # And the way back now would copy what the third link brought.
    cut_over(third)
    assert f"partition 0 would go on at offset {COPIED + 5}, before" in said(back)[0]


def test_what_a_link_copied_behind_the_cut_cannot_be_told_from_the_clients(there: There) -> None:
    write(there.mirror.target, there.topic, "new", 5)
    write(there.mirror.source, there.topic, "late", 3)
    there.mirror.catch_up()
    back = there.link("way")
    problems, _ = said(back)
    assert "copied 3 records of partition 0 since its cutover of " in problems
    assert "these lie among those of the clients" in problems
    assert back.slices() == []


def test_the_clients_part_of_a_mapped_partition_comes_back(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    there = There(Mirror(tmp_path, source, target, new_name("mapped")))
    there.mirror.create()
    write(target, there.topic, "first", 3)
    write(source, there.topic, "old", COPIED)
    with open_link(there.mirror.config) as opened:
        opened.prepare()
    there.mirror.catch_up()
    cut_over(there.mirror)
    write(target, there.topic, "new", 2)
    back = there.link("way")
    assert f"(partition 0 from offset {COPIED + 3})" in said(back)[1]
    back.catch_up()
    assert values(source, there.topic)[COPIED:] == ["new0", "new1"]


def test_without_a_cutover_only_what_comes_from_now_on_goes_back(there: There) -> None:
    """The way back is not cut over, and the first link would copy what it brought."""
    first = there.link("latest", back=False, more="  shared: true\n")
    first.catch_up()
    write(there.mirror.source, there.topic, "late", 1)
    first.catch_up()
    write(there.mirror.target, there.topic, "new", 5)
    back = there.link("way")
    assert "did not cut over partition 0" in said(back)[0]
    cut_over(first)
    assert f"partition 0 from offset {COPIED + 1}" in said(back)[1]
    back.catch_up()
    assert f"partition 0 would go on at offset {COPIED + 1}; what that link" in said(first)[0]
    assert "each record would exist twice" in said(there.mirror)[0]


def test_what_clients_wrote_before_a_link_back_began_by_latest_is_told(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    there = There(Mirror(tmp_path, source, target, new_name("later")))
    there.mirror.create()
    write(source, there.topic, "old", COPIED)
    with open_link(there.mirror.config) as opened:
        opened.prepare()
    there.mirror.catch_up()
    write(target, there.topic, "new", 5)
    back, group = there.link("way"), new_name("between")
    back.catch_up()
    opened_at = back.books(0).opened
    assert opened_at is not None
    assert opened_at.source_start == COPIED + 5
    cut_over(there.mirror)
    _, notes = said(back)
    assert "offsets 10 to 14 of partition 0, which clients wrote since the cutover" in notes
    assert "are not copied back, as link " in notes
    # A group among them has no place on the old cluster, and gets none.
    back.sections = f"groups: {{include: [{group}]}}\n"
    commit_with(target, group, there.topic, COPIED + 2, "")
    [found] = outcomes(back).values()
    assert found.reason is not None
    assert found.reason.code is ReasonCode.POSITION_BEFORE_MIRROR


def test_a_topic_that_was_made_again_lacks_what_was_there_before_the_cut(there: There) -> None:
    delete_topic(there.mirror.source.bootstrap, there.topic)
    create_topic(there.mirror.source.bootstrap, there.topic, 2)
    problems, _ = said(there.link("way", start="earliest"))
    assert "each record would exist twice" in problems
    assert "copied back from the cutover" not in said(there.link("way"))[1]


def test_what_retention_deleted_behind_the_cut_is_a_gap(there: There) -> None:
    write(there.mirror.target, there.topic, "new", 5)
    back = there.link("way")
    with open_link(back.config) as link:
        link.source.offsets.delete_records({TopicPartition(there.topic, 0): COPIED + 3})
    back.catch_up()
    [gap] = back.books(0).gaps
    assert (gap.first, gap.end) == (COPIED, COPIED + 3)


def test_what_was_there_before_is_no_surplus_of_a_link_back(there: There) -> None:
    write(there.mirror.target, there.topic, "new", 5)
    back = there.link("way")
    back.catch_up()
    for partition, end in ((0, COPIED + 5), (1, COPIED)):
        books = back.books(partition)
        books.runs.clear()
        found = common_range(
            TopicPartition(there.topic, partition), books, Bounds(0, 0, target_latest=end)
        )
        front = None if found is None else found.part.front
        assert front == (SourceOffset(COPIED) if partition == 0 else None)
