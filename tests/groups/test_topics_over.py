"""Positions in topics of which nothing more is mirrored say so. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.groups.group_standings import in_trouble, with_topics_over
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.ledger.states import Mover, begun
from towpath.model.groups import ClientGroup
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

LINK = LinkName("eu")
ORDERS, REST = (TopicPartition(TopicName(name), 0) for name in ("orders", "rest"))
BY = Mover("ann", "host", 1)
DUE = GroupPosition(
    group=ClientGroup("billing"),
    mirror_group="billing",
    tp=ORDERS,
    mirror=ORDERS,
    source=SourceOffset(9),
    metadata="",
    answer=TranslatedOffset(TargetOffset(9), Exactness.EXACT),
)
WAITS = replace(DUE, reason=Reason.of(ReasonCode.POSITION_AHEAD, offset=9, end=7))
ELSEWHERE = replace(WAITS, tp=REST)
READ_ON = replace(DUE, reason=Reason.of(ReasonCode.GROUP_AHEAD, known=12, offset=9))
THERE = replace(DUE, outcome=PositionOutcome.UNCHANGED)
OVER = Reason.of(ReasonCode.TOPIC_OVER, offset=9, state="failed_over")


def told(books: LinkBooks, *positions: GroupPosition) -> list[Reason | None]:
    group = GroupReport(
        group=DUE.group,
        mirror_group=DUE.mirror_group,
        source_state="Empty",
        target_state="",
        at=1,
        positions=positions,
    )
    report = with_topics_over(SyncReport(at=1, groups=(group,)), books)
    return [each.reason for each in report.positions]


def over(topic: TopicName) -> LinkBooks:
    books = LinkBooks(LINK)
    sealed = begun(LINK, topic).seal(BY, 2)
    books.take(sealed.commit(BY, 3, lost=0, again=0).fail_over(BY, lost=0, again=0).entry)
    return books


@pytest.mark.parametrize("of", [ORDERS.topic, WHOLE_LINK])
def test_what_would_wait_for_ever_says_that_the_topic_is_over(of: TopicName) -> None:
    books = over(of)
    assert told(books, DUE, WAITS) == [OVER, OVER]
    assert told(books, READ_ON, THERE) == [READ_ON.reason, None], "clients have it already"
    elsewhere = told(books, ELSEWHERE)
    assert elsewhere == [OVER if of == WHOLE_LINK else ELSEWHERE.reason]


def test_in_a_link_that_goes_on_nothing_changes() -> None:
    assert told(LinkBooks(LINK), DUE, WAITS) == [None, WAITS.reason]


def test_it_is_trouble_only_where_the_group_has_no_position_on_the_target() -> None:
    lost = replace(DUE, reason=OVER)
    assert in_trouble(lost)
    assert not in_trouble(replace(lost, known=TargetOffset(3)))
