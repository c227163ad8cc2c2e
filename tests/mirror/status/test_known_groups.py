"""What `status` says of groups by the ledger alone. Pure."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import SeenGroup, SeenPosition
from towpath.mirror.status.known_groups import GroupsStanding
from towpath.model.groups import GroupKind
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset, TopicName
from towpath.settings import LinkConfig, load

LINK = LinkName("shop")


QUERY = "transform: {sql: 'select value from records'}\n"


def seen(name: str, topic: str, *outcomes: str, mirrored: int = 99) -> SeenGroup:
    positions = [
        SeenPosition(
            number, SourceOffset(5), target=TargetOffset(5 if number < mirrored else -1),
            outcome=outcome,
        )
        for number, outcome in enumerate(outcomes)
    ]  # fmt: skip
    return SeenGroup(
        link=LINK,
        group=name,
        of=GroupKind.CONSUMER,
        mirror_group=name,
        state="Empty",
        at=1_700_049_600_000,
        ids={},
        topics={TopicName(topic): tuple(positions)},
    )


def config(folder: Path, more: str = "") -> LinkConfig:
    file = folder / "shop.yaml"
    file.write_text(
        "source: {bootstrap: 'a:9092'}\ntarget: {bootstrap: 'b:9092'}\nlink: shop\n"
        f"topics: {{include: ['orders']}}\n{more}"
    )
    return load(file, transforms=True)


def test_only_groups_and_topics_of_the_file_count(tmp_path: Path) -> None:
    books = LinkBooks(LINK)
    for each in (
        seen("billing", "orders", "CONFIRMED", "CONFIRMED", "NOT_ATTEMPTED"),
        seen("mail", "audit", "NOT_ATTEMPTED"),
        seen("other", "orders", "CONFIRMED"),
    ):
        books.take(each)
    found = GroupsStanding.of(config(tmp_path, "groups: {exclude: ['other']}\n"), books)
    assert (found.groups, found.there, found.left) == (2, 2, 1)
    assert str(found) == (
        "groups: 2 groups, 2 positions on the target, 1 not, last moved 2023-11-15T12:00:00Z; see"
        " `towpath groups status`"
    )


def test_of_a_query_positions_count_where_mirror_topics_have_a_partition(tmp_path: Path) -> None:
    books = LinkBooks(LINK)
    books.take(seen("billing", "orders", *["CONFIRMED"] * 4, mirrored=2))
    found = GroupsStanding.of(config(tmp_path, "groups: {}\n" + QUERY), books)
    assert str(found) == (
        "groups: 1 group, 2 positions on the target, last moved 2023-11-15T12:00:00Z"
    ), "`towpath groups` is refused for such a link"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "groups: the file has no section `groups`, so a run brings none over"),
        ("groups: {}\n", "groups: none was brought over so far"),
        (QUERY, "groups: the file has no section `groups`, so the cutover brings none over"),
        (
            "groups: {}\n" + QUERY,
            "groups: none was brought over so far; the cutover does it",
        ),
    ],
)
def test_nothing_is_said_as_well(tmp_path: Path, more: str, said: str) -> None:
    assert str(GroupsStanding.of(config(tmp_path, more), LinkBooks(LINK))) == said
