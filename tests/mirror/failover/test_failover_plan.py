"""What a failover foretells, where it cuts, and what it fences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.ledger.books import TP, opened, receipt
from towpath.cluster.codes import refused
from towpath.cluster.metadata import ProducerState
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.ledger.alive import Life, RunLife
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import LinkLease
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.ledger.producers import producer_id
from towpath.mirror.failover.beyond import ahead_of
from towpath.mirror.failover.cuts import cut_of
from towpath.mirror.failover.drain import Drain
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.group_positions import held_groups, split_groups, without_rights
from towpath.mirror.failover.partitions import (
    UNKNOWN,
    PartitionPlan,
    partition_plan,
    with_known,
)
from towpath.mirror.failover.sealing import require_drain
from towpath.mirror.failover.state_before_failover import held_by
from towpath.model.errors import LedgerError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicName,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.target.claims import Claim
from towpath.records.target.fences import COORDINATOR_EPOCH, EPOCH, fence_of
from towpath.runtime.clock import now_ms

LINK, SOURCE = LinkName("l"), ClusterId("old")
MAPPED = {"mode": Mode.MAPPED}


def books(source: int = 100, target: int = 100, **changes: Any) -> PartitionBooks:
    made = PartitionBooks()
    mode = changes.get("mode", Mode.IDENTICAL)
    made.take(opened(mode=mode))
    run = SourceOffset(0), TargetOffset(target - source), source
    ends = {"source_end": SourceOffset(source), "target_end": TargetOffset(target), "run": run}
    made.take(receipt(**{**ends, "sequence": 100, "records": 100, **changes}))
    return made


def state(producer: int, last: int = 99, epoch: int = 0, coordinator: int = -1) -> ProducerState:
    return ProducerState(
        id=ProducerId(producer),
        last_sequence=last,
        last_timestamp=0,
        open_since=-1,
        epoch=epoch,
        coordinator_epoch=coordinator,
    )


def test_where_the_source_answers_what_is_missing_is_exact() -> None:
    plan = partition_plan(TP, books(), 100, 107)
    assert (plan.source_end, plan.target_end, plan.missing) == (100, 100, 7)
    assert plan.sentence == "t-0: offsets 100 to 106 are not mirrored"


def test_where_it_does_not_what_groups_had_read_is_the_least() -> None:
    plan = partition_plan(TP, books(at=1000), 100, UNKNOWN)
    assert plan.missing == UNKNOWN
    position = _position(source=103, answer=(100, Exactness.NOT_YET))
    [told] = with_known([plan], _report(position))
    assert told.at_least == 3
    assert told.sentence.startswith("t-0: at least 3 offsets not mirrored, as of 1970")
    whole = _plan([told], position)
    assert (whole.lost, whole.unknown, whole.costs) == (3, 1, True)
    [stands] = whole.positions
    assert (stands.ahead, stands.follow, stands.again, stands.exact) == (3, 0, 0, False)


def test_a_partition_of_which_a_half_gone_source_tells_nothing_says_why() -> None:
    why = Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)
    plan = replace(partition_plan(TP, books(at=1000), 100, UNKNOWN), silent=why)
    assert plan.sentence.endswith(f"; {why}, so what was written there since is unknown")
    whole = _plan([plan, partition_plan(TP, books(), 100, 107)])
    assert (whole.lost, whole.unknown, whole.silent, whole.costs) == (7, 1, (plan,), True)


def test_groups_that_the_source_does_not_tell_of_may_read_more_again() -> None:
    """The others stand where they do; of these, nobody knows what they have read since."""
    position = _position(source=60, answer=(60, Exactness.EXACT))
    plan = _plan([partition_plan(TP, books(), 100, 100)], position)
    assert (plan.again, plan.again_at_most) == (0, 0)
    report = _report(position)
    why = Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)
    unsure = replace(plan, groups=replace(report, remembered={position.group: why}))
    assert (unsure.again, unsure.again_at_most) == (0, 40)
    assert replace(plan, source_gone="it is away").again_at_most == 40


def test_records_behind_the_last_receipt_are_on_the_target_too() -> None:
    plan = partition_plan(TP, books(), 105, 107)
    assert (plan.source_end, plan.target_end, plan.missing, plan.beyond) == (105, 105, 2, 5)
    cut = cut_of(LINK, books(), plan, 7)
    assert (cut.source_end, cut.target_end, cut.records, cut.passed) == (105, 105, 105, 0)


def test_where_offsets_are_mapped_nobody_but_the_source_knows_which_they_are() -> None:
    plan = partition_plan(TP, books(100, 103, **MAPPED), 108, 107)
    assert (plan.source_end, plan.target_end, plan.missing, plan.beyond) == (100, 108, 2, 5)
    cut = cut_of(LINK, books(100, 103, **MAPPED), plan, 7)
    assert (cut.source_end, cut.target_end, cut.passed) == (100, 108, 5)


def test_markers_and_what_was_aborted_behind_the_last_receipt_are_no_mirrored_records() -> None:
    known = books(100, 103, **MAPPED)
    plan = partition_plan(TP, known, 109, 107, ahead=3)
    assert (plan.source_end, plan.target_end, plan.missing, plan.beyond) == (100, 109, 4, 3)
    cut = cut_of(LINK, known, plan, 7, TargetOffset(109), 1)
    assert (cut.source_end, cut.target_end, cut.records, cut.passed) == (100, 109, 103, 3)


def test_what_others_wrote_behind_the_copy_is_the_clients() -> None:
    plan = partition_plan(TP, books(), 105, 107, ahead=0)
    assert (plan.source_end, plan.target_end, plan.missing, plan.beyond) == (100, 100, 7, 0)
    cut = cut_of(LINK, books(), plan, 7, TargetOffset(105), 1)
    assert (cut.source_end, cut.target_end, cut.fences) == (100, 100, 1)


def test_what_comes_between_the_look_and_the_fence_is_the_links() -> None:
    plan = partition_plan(TP, books(), 100, 107)
    cut = cut_of(LINK, books(), plan, 7, TargetOffset(104), 1)
    assert (cut.source_end, cut.target_end) == (104, 104)


def test_fences_of_an_attempt_that_was_killed_are_no_records() -> None:
    plan = partition_plan(TP, books(), 101, 107, fences=1)
    assert (plan.source_end, plan.target_end, plan.missing, plan.beyond) == (100, 100, 7, 0)
    cut = cut_of(LINK, books(), plan, 7, TargetOffset(100), 1)
    assert (cut.source_end, cut.target_end) == (100, 100)


def test_what_the_targets_leader_lacks_is_told_and_the_copy_ends_before_it() -> None:
    known = books()
    plan = partition_plan(TP, known, 90, UNKNOWN)
    assert (plan.source_end, plan.target_end, plan.receded, plan.at_least) == (90, 90, 10, 10)
    assert plan.sentence == (
        "t-0: the target lost offsets 90 to 99 that were copied, as its leader lacks them; at least"
        " 10 offsets of the source from 90 on are not mirrored"
    )
    cut = cut_of(LINK, known, plan, 7, TargetOffset(90), 1, epoch=4)
    assert (cut.source_end, cut.target_end, cut.target_epoch) == (90, 90, 4)
    known.take(cut)
    assert partition_plan(TP, known, 91, 107).missing == 17
    answer = known.offsets().to_target(SourceOffset(95))
    assert (answer.offset, answer.exactness) == (90, Exactness.NOT_YET)


def test_where_the_fence_stands_says_what_the_target_has() -> None:
    """A fence of an attempt that was killed may come between the looks at the log and at ids."""
    plan = partition_plan(TP, books(), 100, UNKNOWN, fences=1)
    cut = cut_of(LINK, books(), plan, 7, TargetOffset(100), 1)
    assert (cut.source_end, cut.target_end, cut.records) == (100, 100, 100)
    less = cut_of(LINK, books(), partition_plan(TP, books(), 100, 107), 7, TargetOffset(97), 1)
    assert (less.source_end, less.target_end) == (97, 97)


def test_where_offsets_are_mapped_the_map_tells_what_the_leader_lacks() -> None:
    known = books(100, 103, **MAPPED)
    back = known.offsets().to_source
    plan = partition_plan(TP, known, 93, 107, back=lambda at: back(at).offset)
    assert (plan.source_end, plan.target_end, plan.missing) == (90, 93, 17)
    cut = cut_of(LINK, known, plan, 7, TargetOffset(93), 1)
    assert (cut.source_end, cut.target_end, cut.passed) == (90, 93, 0)


def test_an_earlier_cut_holds_unless_the_link_copied_on() -> None:
    known = books()
    cut = cut_of(LINK, known, partition_plan(TP, known, 100, 100), 5, TargetOffset(100), 1)
    known.take(cut)
    plan = partition_plan(TP, known, 150, UNKNOWN)
    assert (plan.cut, plan.target_end, plan.beyond) == (cut, 100, 0)
    known.take(receipt(copier="later", records=120, sequence=120, source_end=SourceOffset(120),
                       target_end=TargetOffset(120)))  # fmt: skip
    assert partition_plan(TP, known, 120, UNKNOWN).cut is None


def test_the_offset_map_knows_what_a_failover_found_behind_the_last_receipt() -> None:
    known = books()
    assert known.offsets().to_target(SourceOffset(105)).exactness is Exactness.NOT_YET
    known.take(cut_of(LINK, known, partition_plan(TP, known, 105, UNKNOWN), 5))
    answers = [known.offsets().to_target(SourceOffset(n)) for n in (99, 103, 105)]
    assert [(each.offset, each.exactness) for each in answers] == [
        (99, Exactness.EXACT), (103, Exactness.EXACT), (105, Exactness.EXACT),
    ]  # fmt: skip


def unreceipted(mode: Mode, source: int = 0, target: int = 0) -> PartitionBooks:
    made = PartitionBooks()
    at = SourceOffset(source), TargetOffset(target)
    made.take(opened(mode=mode, source_start=at[0], target_start=at[1]))
    return made


def test_before_the_first_receipt_groups_stand_where_they_did() -> None:
    known = unreceipted(Mode.IDENTICAL, 40, 40)
    plan = partition_plan(TP, known, 100, 107)
    assert (plan.source_end, plan.target_end, plan.missing, plan.beyond) == (100, 100, 7, 60)
    known.take(cut_of(LINK, known, plan, 5, TargetOffset(100), 1))
    answers = [known.offsets().to_target(SourceOffset(n)) for n in (40, 60, 100, 103)]
    assert [(each.offset, each.exactness) for each in answers] == [
        (40, Exactness.EXACT), (60, Exactness.EXACT), (100, Exactness.EXACT),
        (100, Exactness.NOT_YET),
    ]  # fmt: skip


def test_before_the_first_receipt_what_may_be_read_twice_is_bounded_by_what_was_read() -> None:
    known = unreceipted(Mode.MAPPED, 40, 7)
    plan = partition_plan(TP, known, 67, UNKNOWN)
    assert (plan.source_end, plan.target_end, plan.passed) == (40, 67, 60)
    known.take(cut_of(LINK, known, plan, 5, TargetOffset(67), 1))
    said = known.offsets().to_target(SourceOffset(55))
    assert (said.offset, said.exactness) == (7, Exactness.NOT_YET)
    told = _plan([plan], _position(source=55, answer=(7, said.exactness)))
    [stands] = told.positions
    assert (stands.again, stands.follow, stands.ahead) == (15, 60, 0)


def test_before_the_first_receipt_what_others_wrote_is_the_clients() -> None:
    known = unreceipted(Mode.IDENTICAL)
    assert ahead_of(known, [state(1, last=9)]) == 10
    assert ahead_of(known, []) is None, "brokers forget an id a day after its last batch"


def test_all_ids_under_which_something_may_come_are_fenced_with_the_highest_epoch() -> None:
    data = 1
    marker = producer_id(
        LINK, SOURCE, opened().source_topic_id, opened().target_topic_id, TP, purpose="marker"
    )
    claim = Claim(index=2, number=5, epoch=7)
    filled = claim.marker(marker)
    states = [
        state(data), state(filled.producer_id, -1, filled.epoch, filled.coordinator_epoch)
    ]  # fmt: skip
    made = fence_of(LINK, SOURCE, TP, books(), states, TargetOffset(100))
    assert made.own == made.ids == (data, marker + 2)
    assert {(m.epoch, m.coordinator_epoch) for m in made.markers} == {(EPOCH, COORDINATOR_EPOCH)}
    alone = fence_of(LINK, SOURCE, TP, books(generation=3), [state(4)], TargetOffset(100))
    assert alone.own == (data + 3,)


def test_what_is_fenced_already_is_not_fenced_again() -> None:
    done = fence_of(LINK, SOURCE, TP, books(), [state(1, -1, EPOCH)], TargetOffset(101))
    assert (done.own, done.ids) == ((1,), ())
    assert done.since == 100


@pytest.mark.parametrize(
    ("reason", "stays_away"),
    [
        (Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group="g", state="Stable"), True),
        (Reason.of(ReasonCode.GROUP_AHEAD, known=7, offset=5), False),
        (Reason.of(ReasonCode.TOPIC_NOT_MIRRORED), False),
    ],
)
def test_positions_that_are_left_out_on_purpose_need_nobody(
    reason: Reason, *, stays_away: bool
) -> None:
    away = replace(_position(), reason=reason)
    plan = _plan([partition_plan(TP, books(), 100, 100)], away)
    assert bool(plan.left) is stays_away
    assert plan.costs is stays_away


def test_nothing_lost_and_nothing_twice_costs_nothing() -> None:
    plan = _plan([partition_plan(TP, books(), 100, 100)], _position())
    assert not plan.costs
    assert (plan.lost, plan.again, plan.unknown) == (0, 0, 0)
    unsure = _plan(
        [partition_plan(TP, books(), 100, 100)], _position(answer=(60, Exactness.BOUNDED))
    )
    assert unsure.costs


def test_a_drain_is_over_when_all_is_copied_and_nobody_writes() -> None:
    behind, done = (partition_plan(TP, books(), 100, end) for end in (107, 100))
    drain = Drain(quiet=0.0)
    drain.look([behind])
    assert (drain.over, drain.done, drain.left) == (False, (0, 1), [behind.sentence])
    drain.look([done])
    assert drain.over
    busy = Drain(quiet=60.0)
    busy.look([done])
    assert not busy.over
    assert "somebody still writes" in busy.left[0]


@pytest.mark.parametrize(("gone", "why"), [("away", "does not answer"), ("", "no run of it")])
def test_a_drain_needs_the_source_and_a_run(gone: str, why: str) -> None:
    with pytest.raises(LedgerError, match=why):
        require_drain(replace(_plan([]), source_gone=gone))


def test_a_drain_waits_for_no_topic_that_is_paused() -> None:
    lives = RunLife(state=Life.ALIVE, host="h", pid=1, since=0, beat=0, silence=0.0)
    plan = replace(_plan([]), run=lives, paused=(TopicName("orders"),))
    with pytest.raises(LedgerError, match="1 topic paused: orders; `towpath resume FILE`"):
        require_drain(plan)
    require_drain(replace(plan, paused=()))


def test_groups_that_a_closed_streams_application_holds_are_named_once() -> None:
    held = Reason.of(ReasonCode.GROUP_HELD, group="g")
    positions = [replace(_position(), reason=held)] * 2 + [_position()]
    assert held_groups(positions) == ["g"]


def _position(
    source: int = 60, answer: tuple[int, Exactness] = (60, Exactness.EXACT)
) -> GroupPosition:
    offset, exactness = answer
    return GroupPosition(
        group=ClientGroup("g"),
        mirror_group="g",
        tp=TP,
        mirror=TP,
        source=SourceOffset(source),
        metadata="",
        answer=TranslatedOffset(TargetOffset(offset), exactness),
        outcome=PositionOutcome.NOT_ATTEMPTED,
    )


def _report(*positions: GroupPosition) -> SyncReport:
    group = GroupReport(
        group=ClientGroup("g"), mirror_group="g", source_state="", target_state="", at=0,
        positions=positions,
    )  # fmt: skip
    return SyncReport(at=0, groups=(group,))


def _plan(partitions: list[PartitionPlan], *positions: GroupPosition) -> FailoverPlan:
    return FailoverPlan(
        link=LINK, at=0, topics=(), partitions=tuple(partitions), groups=_report(*positions)
    )


def test_groups_of_which_a_part_of_the_topics_stays_are_named() -> None:
    position = _position(source=50, answer=(50, Exactness.EXACT))
    report = _report(position)
    name = position.group.name
    [found] = split_groups(
        report, {name: {TopicName("users"), TopicName("pay")}, "other": {TopicName("x")}}
    )
    assert (found.moves, found.stays) == (("t",), ("pay", "users"))
    assert str(found) == f"{name} reads t, which fails over, and pay, users, which does not"
    assert list(split_groups(report, {})) == []
    assert list(split_groups(None, {name: {TopicName("users")}})) == []


def test_a_group_that_the_login_may_not_write_is_left_with_its_reason() -> None:
    position = _position(source=50, answer=(50, Exactness.EXACT))
    error = refused("target", "writing offsets of groups", 30, acl="Read on group g")
    client = ClientGroup(position.mirror_group, position.group.kind)
    report = without_rights(_report(position), {client: error})
    whole = _plan([partition_plan(TP, books(), 100, 100)], *report.positions)
    assert [str(each.position.reason) for each in whole.left] == [str(error.reason)]
    assert "Read on group g" in str(error.reason)
    assert whole.costs
    assert without_rights(_report(position), {}) == _report(position)


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, True),
        ({"over": True}, False),
        ({"command": "run"}, False),
        ({"beat": now_ms() - 60_000}, False),
    ],
)
def test_a_command_that_changes_the_target_now_is_named_unless_it_is_over_or_silent(
    changes: dict[str, Any], held: bool
) -> None:
    lease = LinkLease(
        link=LINK, owner="o", command="apply", host="elsewhere", pid=5, since=1, beat=now_ms(),
        over=False,
    )  # fmt: skip
    assert bool(held_by(replace(lease, **changes))) is held
    assert held_by(None) == ""
    plan = replace(_plan([partition_plan(TP, books(), 100, 100)]), held_by=held_by(lease))
    assert plan.costs
