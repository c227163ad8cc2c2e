"""What a group gets from a checkpoint, or why it gets nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.cluster.admin.groups import ClientGroup, Commit, GroupKind, GroupState
from towpath.cluster.metadata import Broker
from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.ledger.offsets import Exactness
from towpath.mirror.mm2.checkpoints import Seen
from towpath.mirror.mm2.decide import CheckpointedTarget, LogRange, Terms, clamped, decide, resets
from towpath.mirror.mm2.others import Looked, StrangeRecords
from towpath.mirror.mm2.policy import Policy, PolicyKind
from towpath.mirror.mm2.records import Checkpoint
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode

TP = TopicPartition(TopicName("us.orders"), 0)
GROUP = ClientGroup("shop")
TERMS = Terms(alias="us", policy=Policy())
BROKER = Broker(1, "host", 9092)


def seen(target: int = 50, tp: TopicPartition = TP, group: str = "shop") -> Seen:
    checkpoint = Checkpoint(
        group=group,
        tp=tp,
        source=SourceOffset(60),
        target=TargetOffset(target),
        metadata="m",
    )
    return Seen(checkpoint, at=1)


def view(
    known: int | None = None,
    state: str | None = None,
    kind: GroupKind = GroupKind.CONSUMER,
    others: tuple[StrangeRecords, ...] = (),
) -> CheckpointedTarget:
    group = ClientGroup("shop", kind)
    states = {"shop": GroupState(group, state, "classic", BROKER)} if state is not None else {}
    return CheckpointedTarget(
        partitions={TP.topic: 2},
        logs={TP: LogRange(10, 100)},
        states=states,
        commits={GROUP: {} if known is None else {TP: Commit(known)}},
        looked={TP: Looked(others, 0, 100, counted=True)},
    )


def code(position: GroupPosition) -> ReasonCode | None:
    return position.reason.code if position.reason is not None else None


def test_a_group_that_the_target_does_not_know_gets_its_checkpoint() -> None:
    made = decide(seen(), view(), TERMS)
    assert made.due
    assert made.answer is not None
    assert (made.answer.offset, made.metadata, made.tp.topic) == (50, "m", "orders")
    assert (made.mirror, made.source, made.known) == (TP, 60, None)


@pytest.mark.parametrize(
    ("known", "wanted"), [(49, None), (51, ReasonCode.GROUP_AHEAD), (50, "unchanged")]
)
def test_a_group_never_goes_back(known: int, wanted: ReasonCode | str | None) -> None:
    made = decide(seen(), view(known), TERMS)
    if wanted == "unchanged":
        assert made.outcome is PositionOutcome.UNCHANGED
    else:
        assert code(made) == wanted
        assert made.due is (wanted is None)
    assert decide(seen(), view(51), replace(TERMS, rewinds=True)).due


@pytest.mark.parametrize(
    ("offset", "gets", "exactness"),
    [
        (9, 10, Exactness.LOST),
        (10, 10, Exactness.BOUNDED),
        (100, 100, Exactness.BOUNDED),
        (101, 100, Exactness.LOST),
    ],
)
def test_offsets_stay_within_the_log(offset: int, gets: int, exactness: Exactness) -> None:
    found = clamped(offset, LogRange(10, 100))
    assert (found.offset, found.exactness) == (gets, exactness)
    assert bool(found.why) is (exactness is Exactness.LOST)


def test_nothing_is_written_under_members_or_to_groups_of_another_kind() -> None:
    assert code(decide(seen(), view(state="Stable"), TERMS)) is ReasonCode.GROUP_HAS_MEMBERS
    assert decide(seen(), view(state="Empty"), TERMS).due
    share = view(state="Empty", kind=GroupKind.SHARE)
    assert code(decide(seen(), share, TERMS)) is ReasonCode.GROUP_NAME_TAKEN


def test_nothing_is_written_without_a_known_offset() -> None:
    blind = replace(view(), commits={})
    assert code(decide(seen(), blind, TERMS)) is ReasonCode.GROUP_NOT_SEEN


def test_partitions_that_are_not_there_and_topics_of_others_are_named() -> None:
    gone = seen(tp=TopicPartition(TP.topic, 7))
    assert code(decide(gone, view(), TERMS)) is ReasonCode.MIRROR_PARTITION_GONE
    local = seen(tp=TopicPartition(TopicName("orders"), 0))
    assert code(decide(local, view(), TERMS)) is ReasonCode.NO_MIRROR_TOPIC
    identity = replace(TERMS, policy=Policy(kind=PolicyKind.IDENTITY))
    assert decide(seen(), view(), identity).tp.topic == "us.orders"


def test_records_of_others_are_not_skipped_unless_told() -> None:
    others = (StrangeRecords(40, 45, 5, sure=True),)
    made = decide(seen(), view(others=others), TERMS)
    assert code(made) is ReasonCode.OTHER_RECORDS
    assert "5 records that others wrote at offsets 40 to 44" in str(made.reason)
    assert decide(seen(), view(others=others), replace(TERMS, over_others=True)).due
    # A group that has read them, or that will read them, skips nothing.
    assert decide(seen(), view(45, others=others), TERMS).due
    assert decide(seen(40), view(others=others), TERMS).due
    before = (StrangeRecords(0, 10, 10, sure=True),)  # the log begins behind them
    assert decide(seen(), view(others=before), TERMS).due


def test_a_suspicion_says_what_else_it_may_be() -> None:
    made = decide(seen(), view(others=(StrangeRecords(40, 45, 5, sure=False),)), TERMS)
    assert "or MirrorMaker 2 wrote twice after a crash" in str(made.reason)


def test_partitions_without_an_offset_are_named() -> None:
    made = decide(seen(), view(), TERMS)
    [told] = resets([made], view())
    assert told.startswith("group shop has no offset for us.orders-1: auto.offset.reset")
    left = decide(seen(), view(state="Stable"), TERMS)
    assert [line.count("us.orders") for line in resets([left], view())] == [2]


OFFSETS = st.integers(0, 120)


@given(OFFSETS, st.none() | OFFSETS, st.booleans(), st.lists(st.tuples(OFFSETS, OFFSETS)))
def test_what_is_written_lies_in_the_log_and_skips_nothing_of_others(
    offset: int, known: int | None, rewinds: bool, spans: list[tuple[int, int]]
) -> None:
    others = tuple(StrangeRecords(a, b, b - a, sure=True) for a, b in spans if a < b)
    made = decide(seen(offset), view(known, others=others), replace(TERMS, rewinds=rewinds))
    if not made.due:
        return
    assert made.answer is not None
    gets = made.answer.offset
    assert 10 <= gets <= 100
    begin = 10 if known is None else max(10, known)
    skipped = set(range(begin, gets))
    assert not any(skipped & set(range(each.first, each.end)) for each in others)
    assert rewinds or known is None or gets > known
