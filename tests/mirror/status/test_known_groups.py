"""What `status` says of groups by the ledger alone. Pure."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import SeenGroup, SeenPosition
from towpath.mirror.status.known_groups import GroupsStanding
from towpath.model.groups import GroupKind
from towpath.model.nouns import LinkName, SourceOffset, TopicName
from towpath.settings import LinkConfig, load

LINK = LinkName("shop")


def seen(name: str, topic: str, *outcomes: str) -> SeenGroup:
    positions = [
        SeenPosition(number, SourceOffset(5), outcome=outcome)
        for number, outcome in enumerate(outcomes)
    ]
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
    return load(file)


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


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "groups: the file has no section `groups`, so a run brings none over"),
        ("groups: {}\n", "groups: none was brought over so far"),
    ],
)
def test_nothing_is_said_as_well(tmp_path: Path, more: str, said: str) -> None:
    assert str(GroupsStanding.of(config(tmp_path, more), LinkBooks(LINK))) == said
