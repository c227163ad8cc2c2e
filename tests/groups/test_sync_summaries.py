"""What a sync tells the meter, the run and the plan. Pure."""

from __future__ import annotations

from dataclasses import replace

from towpath.groups.counts import GroupCounts
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.groups.sync_summaries import counts_of, preview_of, trouble_of
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.model.errors import UnreachableError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

GROUP = ClientGroup("billing")
TP = TopicPartition(TopicName("orders"), 3)
DUE = GroupPosition(
    group=GROUP,
    mirror_group="billing",
    tp=TP,
    mirror=TP,
    source=SourceOffset(7),
    metadata="",
    answer=TranslatedOffset(TargetOffset(7), Exactness.EXACT),
)
WRITTEN = replace(DUE, outcome=PositionOutcome.CONFIRMED)
THERE = replace(DUE, outcome=PositionOutcome.UNCHANGED)
LOST = Reason.of(ReasonCode.GROUP_ANSWER_LOST, offset=7, why=Reason.of(ReasonCode.RETENTION))
UNKNOWN = replace(DUE, outcome=PositionOutcome.UNKNOWN, reason=LOST)
DELETED = replace(DUE, answer=None, reason=Reason.of(ReasonCode.SOURCE_TOPIC_DELETED))
BESIDE = replace(DUE, answer=None, reason=Reason.of(ReasonCode.TOPIC_NOT_MIRRORED))


def report(*positions: GroupPosition, due: int = 0) -> SyncReport:
    group = GroupReport(
        group=GROUP,
        mirror_group="billing",
        source_state="Empty",
        target_state="",
        at=1,
        positions=positions,
        due=due,
    )
    return SyncReport(at=1, groups=(group,), translating=4e-9 * len(positions), writing=1e-8)


def test_each_group_is_counted_with_its_share_of_the_time() -> None:
    done = report(WRITTEN, UNKNOWN, THERE, DELETED, BESIDE, due=2)
    assert counts_of(done) == {
        "billing": GroupCounts(
            translated=2,
            translation_errors=1,
            translation_ns=20,
            committed=1,
            commit_errors=1,
            commit_ns=10,
            syncs=1,
            writes=1,
        )
    }
    assert not done.good
    assert report(WRITTEN, THERE, DELETED, BESIDE, due=1).good


def test_what_keeps_a_sync_from_being_good_is_a_sentence() -> None:
    error = UnreachableError("source", "listing consumer groups", "no answer")
    wrong = replace(report(UNKNOWN), failed={GROUP: error}, unlisted=(error,))
    assert [*trouble_of(wrong)] == [
        "some groups may be missing: source: listing consumer groups: no answer",
        "group billing: source: listing consumer groups: no answer",
        "of 1 position it is not known whether they were written",
    ]
    assert [*trouble_of(report(WRITTEN, THERE))] == []


def test_a_plan_says_what_the_first_sync_would_write() -> None:
    assert [
        *preview_of(report(DUE, replace(DUE, tp=replace(TP, partition=4)), THERE, DELETED))
    ] == [
        "the first sync would write 2 positions of 1 group (billing); 1 are there already",
        "1 position of 1 group (billing) would not be written, such as that in orders-3: the topic"
        " is no more at the source",
    ]
    assert [*preview_of(replace(report(), groups=()))] == []
