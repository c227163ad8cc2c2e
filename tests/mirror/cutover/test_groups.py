"""Which groups keep clients from moving, and which do not. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.ledger.books import opened
from tests.support.ledger.standings import ROW
from towpath.groups.at_cut import CutTopic
from towpath.groups.group_snapshots import group_entry
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.groups.unread import PassedOver
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Gap
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.mirror.cutover.cuts import cuts
from towpath.mirror.cutover.groups_left import (
    among_others,
    left_reading,
    open_transactions,
    skipped,
    to_read,
    unmoved,
    unread,
)
from towpath.mirror.cutover.readers import Moved, ReadingGroup
from towpath.model.errors import UnreachableError
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import (
    LinkName,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode

LINK = LinkName("l")
GROUP = ClientGroup("billing")
DUE = GroupPosition(
    group=GROUP,
    mirror_group="billing",
    tp=ROW.tp,
    mirror=ROW.tp,
    source=SourceOffset(5),
    metadata="",
    answer=TranslatedOffset(TargetOffset(5), Exactness.EXACT),
)
MEMBERS = Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group="billing", state="Stable")
AHEAD = Reason.of(ReasonCode.GROUP_AHEAD, known=9, offset=5)
LATER = Reason.of(ReasonCode.POSITION_AHEAD, offset=9, end=5)
ELSEWHERE = Reason.of(ReasonCode.TOPIC_NOT_MIRRORED)
LIVE = Reason.of(ReasonCode.GROUP_NOT_EMPTY, state="Stable")


def report(*positions: GroupPosition) -> SyncReport:
    group = GroupReport(
        group=GROUP,
        mirror_group="billing",
        source_state="Empty",
        target_state="",
        at=0,
        positions=positions,
    )
    return SyncReport(at=0, groups=(group,))


def left(*positions: GroupPosition, rehearsed: bool = False) -> list[str]:
    return unmoved(report(*positions), LinkBooks(LINK), rehearsed=rehearsed)


@pytest.mark.parametrize(
    ("position", "at_the_end", "rehearsed"),
    [
        (replace(DUE, outcome=PositionOutcome.CONFIRMED), 0, 0),
        (replace(DUE, outcome=PositionOutcome.UNCHANGED), 0, 0),
        (replace(DUE, outcome=PositionOutcome.UNKNOWN, reason=LATER), 1, 0),
        (DUE, 1, 0),
        (replace(DUE, reason=LATER), 1, 0),
        (replace(DUE, reason=MEMBERS), 1, 1),
        (replace(DUE, reason=AHEAD), 1, 1),
        (replace(DUE, reason=ELSEWHERE), 0, 0),
        (replace(DUE, reason=LIVE), 1, 0),
    ],
)
def test_what_keeps_clients_from_moving(
    position: GroupPosition, at_the_end: int, rehearsed: int
) -> None:
    assert len(left(position)) == at_the_end
    assert len(left(position, rehearsed=True)) == rehearsed


def test_each_is_named() -> None:
    away = UnreachableError("target", "asking", "no answer")
    found = replace(report(replace(DUE, reason=MEMBERS)), failed={ClientGroup("mail"): away})
    assert unmoved(found, LinkBooks(LINK)) == [
        f"group mail: {away}",
        f"group billing is not brought over in {ROW.tp}: {MEMBERS}",
    ]


def test_a_group_that_the_file_brings_only_without_members_has_to_be_stopped_first() -> None:
    other = TopicPartition(ROW.tp.topic, 9)
    live = report(replace(DUE, reason=LIVE), replace(DUE, tp=other))
    [told, _] = unmoved(live, LinkBooks(LINK))
    assert told == f"group billing is not brought over in {ROW.tp}: {LIVE}; stop its members"


@pytest.mark.parametrize(
    ("positions", "stands"),
    [
        ((replace(DUE, outcome=PositionOutcome.CONFIRMED), replace(DUE, reason=ELSEWHERE)), True),
        ((replace(DUE, outcome=PositionOutcome.UNCHANGED),), True),
        ((replace(DUE, reason=AHEAD, known=TargetOffset(9)),), True),
        ((replace(DUE, reason=LIVE),), False),
        ((replace(DUE, reason=ELSEWHERE),), False),
        ((), False),
    ],
)
def test_a_group_goes_on_only_where_the_target_has_an_offset_of_it(
    positions: tuple[GroupPosition, ...], *, stands: bool
) -> None:
    assert len(report(*positions).standing) == stands


def test_clients_that_have_moved_before_may_have_read_on() -> None:
    books = LinkBooks(LINK)
    [cut] = cuts(LINK, [ROW], ())
    books.of(ROW.tp).cuts[cut.producer_id] = cut
    ahead = report(replace(DUE, reason=AHEAD))
    assert len(unmoved(ahead, books)) == 1, "the cutover was of another incarnation"
    books.of(ROW.tp).opened = opened(ROW.tp, producer_id=cut.producer_id)
    assert unmoved(ahead, books) == []
    assert unmoved(report(replace(DUE, reason=MEMBERS)), books) == []
    seen = replace(DUE, outcome=PositionOutcome.CONFIRMED)
    for position, clients_read_there in [(seen, 0), (replace(seen, source=SourceOffset(4)), 1)]:
        [group] = report(position).groups
        books.take(group_entry(LINK, group, {}, None))
        for why in (AHEAD, MEMBERS):
            told = unmoved(report(replace(DUE, reason=why)), books)
            assert len(told) == clients_read_there
            assert all("stood at offset 4 at the source" in text for text in told)


def test_a_group_that_moved_at_the_source_is_told_by_what_is_known() -> None:
    """Clients may have read, or somebody has set the group: the offset does not say who it was."""
    books = LinkBooks(LINK)
    [cut] = cuts(LINK, [ROW], ())
    books.of(ROW.tp).cuts[cut.producer_id] = cut
    books.of(ROW.tp).opened = opened(ROW.tp, producer_id=cut.producer_id)
    [group] = report(replace(DUE, outcome=PositionOutcome.CONFIRMED)).groups
    books.take(group_entry(LINK, group, {}, None))

    def told(now: int) -> str:
        [text] = unmoved(report(replace(DUE, reason=AHEAD, source=SourceOffset(now))), books)
        return text

    on, back = told(7), told(2)
    for text, now in ((on, 7), (back, 2)):
        where = "it stood at offset 5 at the source when the target got its position, and stands at"
        assert f"{where} {now} now: " in text
    assert "clients read there, or somebody set it on" in on
    assert "somebody set it back" in back
    share = replace(DUE, reason=AHEAD, source=SourceOffset(2), again=3)
    [text] = unmoved(report(share), books)
    assert "somebody set it back, or its members came and went" in text
    why = Reason.of(ReasonCode.SOURCE_CUT, end=2)
    books.take(
        Gap(
            link=LINK,
            topic=ROW.topic,
            partition=ROW.partition,
            producer_id=cut.producer_id,
            first=SourceOffset(2),
            end=SourceOffset(5),
            why=why,
            went_on=False,
            at=1,
        )
    )
    assert "lost records there since" in told(2)
    assert "SOURCE_CUT" in told(2)
    assert "set it back" not in told(2)
    assert "clients read there" not in back


def test_offsets_in_two_topics_of_one_name_are_not_compared() -> None:
    books = LinkBooks(LINK)
    [group] = report(replace(DUE, outcome=PositionOutcome.CONFIRMED)).groups
    books.take(group_entry(LINK, group, {}, None))
    why = Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)
    [text] = unmoved(report(replace(DUE, reason=why, source=SourceOffset(7))), books)
    assert text == f"group billing is not brought over in {ROW.tp}: {why}"


def test_unread_records_that_the_target_lacks_need_the_word_of_their_group() -> None:
    lost = PassedOver(group=GROUP, tp=ROW.tp, first=10, end=60, records=50)
    other = replace(lost, group=ClientGroup("mail", GroupKind.SHARE), records=1)
    why = "the target lacks 50 records that the group has not read and the source still has"
    places = f"({ROW.tp}: offsets 10 to 59)"
    trouble, notes = skipped([lost, other], {"mail"})
    assert trouble == [
        f"group billing: {why} {places}; let its clients read them at the source first, or add"
        " --may-skip billing to cut over all the same"
    ]
    [note] = notes
    assert note.about == "share group mail"
    assert "lacks 1 record " in note.text
    assert note.text.endswith("; that is meant (--may-skip)")
    assert skipped([], ()) == ([], [])


def test_what_is_unread_ends_a_cutover_through_a_query_unless_that_is_meant() -> None:
    some = PassedOver(group=GROUP, tp=ROW.tp, first=10, end=60, records=50)
    more = replace(some, tp=TopicPartition(ROW.tp.topic, 9), first=1, end=9000, counted=False)
    other = replace(some, group=ClientGroup("mail"), records=1)
    trouble, notes = unread([some, more, other], {"mail"})
    assert trouble == [
        f"group billing: it has not read up to 100 records at the source ({ROW.tp}: offsets 10 to"
        f" 59, {more.tp}: offsets 1 to 8999); let its clients read them first, or add --may-skip"
        " billing to let it go on behind them"
    ]
    [note] = notes
    assert str(note.about) == "group mail"
    assert note.text.endswith("and goes on behind them; that is meant (--may-skip)")
    assert to_read([some, other], {"mail"}) == [
        "1 group has not read everything at the source (billing: 50 records): let the clients read"
        " the rest"
    ]
    assert to_read([other], {"mail"}) == []


def test_a_place_among_records_of_others_is_told() -> None:
    topic = CutTopic(mirror=TopicName("clean"), ends={}, others="that clients wrote")
    [note] = among_others([(GROUP, topic)])
    assert str(note) == (
        "group billing: it goes on at the end of clean, which also has records that clients wrote;"
        " that is meant (--may-skip)"
    )


def test_groups_that_are_left_behind_are_told_with_what_they_do() -> None:
    lost = PassedOver(group=GROUP, tp=ROW.tp, first=10, end=60, records=50)
    reads = ReadingGroup(GROUP, "Stable")
    moved = ReadingGroup(ClientGroup("mail"), "", (Moved(ROW.tp, 3, 4),))
    anew = "it begins anew on the target (--without-groups)"
    billing, mail = left_reading([reads, moved], [lost])
    assert billing.text == (
        "it has members at the source (Stable); it has not read 50 records at the source"
        f" ({ROW.tp}: offsets 10 to 59); {anew}"
    )
    assert mail.text == (
        f"it moved from 3 to 4 in {ROW.tp} at the source since the first look; {anew}"
    )
    assert left_reading([], []) == []


def test_what_a_group_without_a_place_comes_to() -> None:
    goes_on = Reason.of(ReasonCode.GROUP_GOES_ON, known=9)
    assert left(replace(DUE, reason=goes_on)) == []
    behind = Reason.of(ReasonCode.GROUP_UNREAD, what="it has not read 2 records")
    stands = Reason.of(ReasonCode.GROUP_STANDS, group="billing", place="orders-0", known=3)
    for reason, rehearsed in ((behind, 0), (stands, 1)):
        assert len(left(replace(DUE, reason=reason))) == 1
        assert len(left(replace(DUE, reason=reason), rehearsed=True)) == rehearsed


def test_a_rehearsal_foresees_an_open_transaction_of_a_group() -> None:
    code = ReasonCode.GROUP_TRANSACTION_OPEN
    open_ = Reason.of(code, group="billing", places=str(ROW.tp))
    found = report(DUE)
    assert open_transactions(found) == []
    told = replace(found, groups=(replace(found.groups[0], remarks=(open_,)),))
    [text] = open_transactions(told)
    assert "a transaction of group billing is open" in text
