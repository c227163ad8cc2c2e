"""What is written for a group, and what never is. Pure."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from towpath.cluster.admin.groups import GroupState
from towpath.cluster.metadata import Broker
from towpath.groups.decide import MirrorPlace, TranslatedGroup, decide, mirror_client, placed
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome
from towpath.groups.observe_groups import SourceGroup, TargetView
from towpath.groups.shares import ShareStand
from towpath.groups.sync_reports import with_open_transaction
from towpath.ledger.entries import SeenPosition
from towpath.ledger.offsets import Exactness, OffsetMap, TranslatedOffset
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import Following, GroupsConfig, GroupStates

BROKER = Broker(1, "b", 9092)
TP = TopicPartition(TopicName("orders"), 0)
MIRROR = TopicPartition(TopicName("copy.orders"), 0)
GROUP = ClientGroup("g")
EXACT = {kind: TranslatedOffset(TargetOffset(5), kind) for kind in Exactness}
FOLLOW = GroupsConfig(rewinds=Following.FOLLOW)


def source(offset: int, metadata: str = "", state: str = "Empty") -> SourceGroup:
    commits = {TP: Commit(offset, metadata)}
    members = state not in {"Empty", "Dead"}
    return SourceGroup(group=GROUP, state=state, has_members=members, at=1, commits=commits)


def translated(
    offset: int,
    answer: TranslatedOffset[TargetOffset],
    last: SeenPosition | None = None,
    **source_facts: str,
) -> TranslatedGroup:
    return TranslatedGroup(
        group=source(offset, **source_facts),
        mirror_group="g",
        answers={TP: answer},
        last={TP: last} if last is not None else {},
    )


def target(
    known: Commit | None = None,
    state: str = "",
    kind: GroupKind = GROUP.kind,
    end: int = 1000,
    start: int = 0,
) -> TargetView:
    listed = GroupState(ClientGroup("g", kind), state, "classic", BROKER)
    return TargetView(
        groups={"g": listed} if state else {},
        commits={GROUP: {MIRROR: known} if known is not None else {}},
        starts={MIRROR: start},
        ends={MIRROR: end},
    )


def only(
    group: TranslatedGroup, there: TargetView, config: GroupsConfig | None = None
) -> GroupPosition:
    places = {TP: MirrorPlace(mirror=MIRROR)}
    (found,) = decide(config or GroupsConfig(), group, places, there)
    return found


def why(position: GroupPosition) -> ReasonCode | None:
    return position.reason.code if position.reason is not None else None


OFFSETS = st.integers(0, 60)
STATES = st.sampled_from(
    ["", "Empty", "Dead", "Stable", "PreparingRebalance", "CompletingRebalance", "Assigning",
     "Reconciling", "NotReady", "Something new"]
)  # fmt: skip


@given(
    runs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=5),
    offset=OFFSETS, known=st.none() | OFFSETS, end=OFFSETS, log_start=st.none() | OFFSETS,
    state=STATES, here=st.sampled_from(["Empty", "Stable"]), rewinds=st.sampled_from(Following),
    states=st.sampled_from(GroupStates), last=st.none() | st.tuples(OFFSETS, OFFSETS),
)  # fmt: skip
def test_whatever_the_target_is_nothing_goes_wrong(
    runs: list[tuple[int, int, int]], offset: int, known: int | None, end: int,
    log_start: int | None, state: str, here: str, rewinds: Following, states: GroupStates,
    last: tuple[int, int] | None,
) -> None:  # fmt: skip
    table, there, at = [], 0, 0
    for gap, shift, length in runs:
        at, there = at + gap, there + shift
        table.append((SourceOffset(at), TargetOffset(there), length))
        at, there = at + length, there + length
    start = TargetOffset(log_start) if log_start is not None and log_start <= there else None
    answer = OffsetMap(table, log_start=start).to_target(SourceOffset(offset))
    seen = (
        None if last is None
        else SeenPosition(0, SourceOffset(last[0]), SourceOffset(last[0]), TargetOffset(last[1]))
    )  # fmt: skip
    config = GroupsConfig(rewinds=rewinds, states=states)
    before = target(None if known is None else Commit(known), state, end=end)
    group = translated(offset, answer, seen, state=here)
    found = only(group, before, config)
    if found.due:
        idle = state in {"", "Empty", "Dead"}
        assert idle, "never under members"
        assert answer.offset <= end, "never behind the end of the target"
        assert start is None or answer.offset >= start, "never before its start"
        assert answer.exactness is not Exactness.NOT_YET, "never where nothing is mirrored"
        assert states is GroupStates.ANY or here == "Empty"
        if known is not None and answer.offset < known <= end:
            assert rewinds is Following.FOLLOW, "never backwards unless told"
            assert last is not None
            assert (last[1], offset < last[0]) == (known, True), "only what the source did itself"
        after = target(Commit(answer.offset), state or "Empty", end=end)
        again = only(group, after, config)
        assert again.outcome is PositionOutcome.UNCHANGED, "a second sync writes nothing"
    else:
        assert found.settled or found.reason is not None, "each has its reason"
        behind = known is not None and known > end
        assert not (behind and why(found) == "GROUP_AHEAD"), "it would pass over what comes there"


def test_a_position_that_is_there_already_is_unchanged_even_under_members() -> None:
    found = only(translated(5, EXACT[Exactness.EXACT]), target(Commit(5), "Stable"))
    assert (found.outcome, found.known) == (PositionOutcome.UNCHANGED, 5)


def test_a_position_beyond_the_end_of_the_target_log_is_not_there() -> None:
    """The target lost its disk: it has the group's offset, and not the records before it."""
    for state in ("Empty", "Stable"):
        found = only(translated(5, EXACT[Exactness.EXACT]), target(Commit(5), state, end=0))
        assert (found.outcome, why(found)) == (
            PositionOutcome.NOT_ATTEMPTED,
            "GROUP_HAS_MEMBERS" if state == "Stable" else "POSITION_NOT_THERE",
        )
        if state == "Empty":
            assert found.answer is not None
            assert found.answer.exactness is Exactness.LOST
    at_end = only(translated(5, EXACT[Exactness.EXACT]), target(Commit(5), end=5))
    assert at_end.outcome is PositionOutcome.UNCHANGED


def test_what_a_share_group_accepted_before_counts_only_under_the_same_mark() -> None:
    """It had accepted 40 records; now, 40 of 50, which may be others."""
    seen = SeenPosition(0, SourceOffset(40), SourceOffset(40), TargetOffset(40))
    share = replace(source(0), stands={TP: ShareStand(0, 10, 50, 50)})
    for mark, last_mark, at in [
        ("3-a", "3-a", (40, 0)),
        ("5-b", "3-a", (0, 40)),
        ("", "", (0, 40)),  # nobody told: as in entries of earlier versions
    ]:
        group = TranslatedGroup(
            group=replace(share, mark=mark), mirror_group="g", last={TP: seen}, last_mark=last_mark
        )
        found = placed(group)
        assert (found.group.commits[TP].offset, found.again[TP]) == at


def test_a_text_of_the_client_that_changed_is_written() -> None:
    group = translated(5, EXACT[Exactness.EXACT], metadata="new")
    assert only(group, target(Commit(5, "old"), "Empty")).due
    assert only(group, target(Commit(5, "new"), "Empty")).settled
    assert only(group, target(Commit(5, "old"), "Stable")).settled, "not under members"


def test_what_was_lost_goes_on_behind_it_and_what_is_to_come_waits() -> None:
    for kind in Exactness:
        found = only(translated(9, EXACT[kind]), target(start=5))
        assert found.due is (kind is not Exactness.NOT_YET), kind
    assert why(only(translated(9, EXACT[Exactness.NOT_YET]), target())) == "POSITION_AHEAD"


def test_records_of_others_before_the_mirror_are_never_jumped_over() -> None:
    before = translated(3, EXACT[Exactness.BEFORE_START])
    assert why(only(before, target(start=4))) == "POSITION_BEFORE_MIRROR"
    assert only(before, target(start=5)).due
    unknown = replace(target(), starts={})
    assert why(only(before, unknown)) == "POSITION_BEFORE_MIRROR"


def test_a_position_that_was_written_once_stays_where_its_place_cannot_be_told_now() -> None:
    """As on a way back, while the ledger of the source is away."""
    last = SeenPosition(0, SourceOffset(3), SourceOffset(3), TargetOffset(2))
    before = translated(3, EXACT[Exactness.BEFORE_START], last)
    there = target(Commit(2), "Empty")
    found = only(before, there)
    assert found.outcome is PositionOutcome.UNCHANGED
    assert found.answer is not None
    assert found.answer.offset == 2
    # Not where the group or somebody else has moved since, nor where the log has gone.
    moved = (
        (translated(4, EXACT[Exactness.BEFORE_START], last), there),
        (before, target(Commit(1), "Empty")),
        (before, target(Commit(2), "Empty", start=3)),
        (translated(3, EXACT[Exactness.BEFORE_START]), there),
    )
    for group, view in moved:
        assert why(only(group, view)) == "POSITION_BEFORE_MIRROR"


def test_without_a_known_previous_value_nothing_is_written() -> None:
    group, error = translated(5, EXACT[Exactness.EXACT]), UnreachableError("target", "a", "b")
    unknown = replace(target(), commits={}, failed={GROUP: error})
    assert why(only(group, unknown)) == "CLUSTER_UNREACHABLE"
    unlisted = replace(target(), commits={}, unlisted=(error,))
    assert why(only(group, unlisted)) == "CLUSTER_UNREACHABLE"
    silent = replace(target(), silent={MIRROR: error})
    assert why(only(group, silent)) == "CLUSTER_UNREACHABLE"


def test_a_share_group_and_a_consumer_group_never_take_each_others_name() -> None:
    group = translated(5, EXACT[Exactness.EXACT])
    assert why(only(group, target(state="Empty", kind=GroupKind.SHARE))) == "GROUP_NAME_TAKEN"
    assert only(group, target(state="Empty", kind=GroupKind.STREAMS)).due
    assert mirror_client(group) == GROUP


def test_a_position_behind_the_end_of_the_log_was_read_by_nobody() -> None:
    """The leader lacks what the group was placed behind."""
    answer = TranslatedOffset(TargetOffset(10), Exactness.EXACT)
    lacking = only(translated(10, answer), target(Commit(15), end=12))
    assert (lacking.due, lacking.reason) == (True, None)
    read = only(translated(10, answer), target(Commit(15), end=15))
    assert (read.due, why(read)) == (False, ReasonCode.GROUP_AHEAD)


def test_only_the_sources_own_rewind_is_followed() -> None:
    back, last = EXACT[Exactness.EXACT], SeenPosition(0, SourceOffset(9), SourceOffset(9))
    ours = last._replace(target=TargetOffset(9))
    assert only(translated(5, back, ours), target(Commit(9), "Empty"), FOLLOW).due
    for seen, known, offset in ((ours, 12, 5), (last, 9, 5), (ours, 9, 9)):
        found = only(translated(offset, back, seen), target(Commit(known), "Empty"), FOLLOW)
        assert why(found) == "GROUP_AHEAD"
    assert why(only(translated(5, back, ours), target(Commit(9), "Empty"))) == "GROUP_AHEAD"


def test_what_is_there_is_committed_anew_where_that_is_asked_for() -> None:
    group, places = translated(5, EXACT[Exactness.EXACT]), {TP: MirrorPlace(mirror=MIRROR)}

    def again(there: TargetView) -> GroupPosition:
        (found,) = decide(GroupsConfig(), group, places, there, renew=True)
        return found

    assert again(target(Commit(5), "Empty")).due
    assert again(target(Commit(5), "Stable")).settled, "not under members"
    assert why(again(target(Commit(9), "Empty"))) is ReasonCode.GROUP_AHEAD, "not backwards"


def test_what_the_target_got_and_no_longer_has_is_told_and_written_again() -> None:
    last = SeenPosition(0, SourceOffset(5), SourceOffset(5), TargetOffset(5))
    group = translated(5, EXACT[Exactness.EXACT], last)
    expired = only(group, target(None, "Empty"))
    assert expired.due
    assert expired.gone == 5
    assert only(group, target(Commit(5), "Empty")).gone is None
    unknown = replace(target(None, "Empty"), commits={})
    assert only(group, unknown).gone is None, "nobody looked"


def test_nothing_is_written_for_share_groups_that_the_target_does_not_take() -> None:
    off = Reason.of(ReasonCode.GROUP_KIND_OFF, kind="share", since="4.1", feature="share.version")
    share = ClientGroup("g", GroupKind.SHARE)
    group = translated(5, EXACT[Exactness.EXACT])
    group = replace(group, group=replace(group.group, group=share))
    there = replace(target(None), commits={share: {}}, unable={GroupKind.SHARE: off})
    assert why(only(group, there)) is ReasonCode.GROUP_KIND_OFF


def test_a_closed_streams_application_is_told_apart_from_other_members() -> None:
    there = replace(target(None, "Stable"), held=frozenset({GROUP}))
    assert why(only(translated(5, EXACT[Exactness.EXACT]), there)) is ReasonCode.GROUP_HELD


def test_no_offset_is_exact_that_an_open_transaction_may_change() -> None:
    group = translated(5, EXACT[Exactness.EXACT])
    pending = replace(group.group, commits={TP: Commit(5, pending=True)})
    found = only(replace(group, group=pending), target())
    assert found.due, "what was committed before is written"
    assert found.answer is not None
    assert (found.answer.offset, found.answer.exactness) == (5, Exactness.BOUNDED)
    assert "open transaction" in found.answer.why


def test_an_open_transaction_of_a_group_is_told() -> None:
    """Also where the group has no offset yet, as before the first commit of an application."""
    report = GroupReport(group=GROUP, mirror_group="g", source_state="", target_state="", at=1,
        positions=())  # fmt: skip
    assert with_open_transaction(report, source(5)) == report
    (told,) = with_open_transaction(report, replace(source(5), pending=frozenset({TP}))).remarks
    assert told.code is ReasonCode.GROUP_TRANSACTION_OPEN
    assert str(TP) in str(told)


def test_members_whose_kind_nobody_tells_are_named_with_the_missing_right() -> None:
    """The broker's refusal was passed over, as if they were members of no Streams application."""
    error = RefusedError("target", "asking for the members of groups", 30, "REFUSED", "add it")
    there = replace(target(None, "Stable"), untold={GROUP: error})
    found = only(translated(5, EXACT[Exactness.EXACT]), there)
    assert why(found) is ReasonCode.GROUP_HAS_MEMBERS
    assert str(error) in str(found.reason)
