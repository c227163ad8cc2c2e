"""A failover, rehearsed or done, for programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.groups.model import GroupReport
from towpath.ledger.entries import LinkState
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.group_positions import PositionPlan
from towpath.mirror.failover.partitions import UNKNOWN, PartitionPlan
from towpath.mirror.failover.request import FailoverReport
from towpath.mirror.show.failover_picture import client_lines
from towpath.mirror.show.failover_shapes import (
    FailoverJson,
    FailoverPlanJson,
    GroupPlanJson,
    PartitionPlanJson,
    PositionPlanJson,
    SplitGroupJson,
)
from towpath.mirror.show.shapes import state_as_json
from towpath.model.reasons import as_data


def as_json(
    report: FailoverReport, states: Sequence[LinkState], server: str, *, dry_run: bool
) -> FailoverJson:
    """Return a failover for programs."""
    return FailoverJson(
        link=report.plan.link,
        topics=[*report.plan.topics],
        dry_run=dry_run,
        done=report.done,
        state=[state_as_json(each) for each in states],
        plan=_plan_json(report.plan),
        after=_plan_json(report.after) if report.after is not None else None,
        fenced=len(report.fenced.fences),
        not_fenced={
            str(tp): str(why)
            for tp, why in sorted({**report.fenced.open, **report.fenced.failed}.items())
        },
        missing=report.missing,
        clients=client_lines(report.after or report.plan, server),
        seconds=report.seconds,
    )


def _plan_json(plan: FailoverPlan) -> FailoverPlanJson:
    groups = plan.groups
    return FailoverPlanJson(
        at=plan.at,
        source_gone=plan.source_gone or None,
        unfenced=plan.unfenced or None,
        lost=plan.lost,
        unknown=plan.unknown,
        again=plan.again,
        again_at_most=plan.again_at_most,
        held=[*plan.held],
        unfenceable={str(tp): str(why) for tp, why in sorted(plan.unfenceable.items())},
        held_by=plan.held_by or None,
        split=[
            SplitGroupJson(group=each.group, moves=[*each.moves], stays=[*each.stays])
            for each in plan.split
        ],
        groups=[] if groups is None else [_group_json(each) for each in groups.groups],
        stopped=[*plan.stopped],
        paused=[*plan.paused],
        partitions=[_partition_json(each) for each in plan.partitions],
        positions=None if groups is None else [_position_json(each) for each in plan.positions],
        groups_failed={}
        if groups is None
        else {each.name: str(why) for each, why in groups.failed.items()},
        unlisted=[] if groups is None else [*map(str, groups.unlisted)],
        remembered={}
        if groups is None
        else {each.name: str(why) for each, why in sorted(groups.remembered.items())},
    )


def _group_json(each: GroupReport) -> GroupPlanJson:
    return GroupPlanJson(
        group=each.group.name,
        mirror_group=each.mirror_group,
        kind=str(each.group.kind),
        type=each.type or None,
        target_state=each.target_state or None,
        remarks=[as_data(why) for why in each.remarks],
    )


def _partition_json(each: PartitionPlan) -> PartitionPlanJson:
    return PartitionPlanJson(
        topic=each.tp.topic,
        partition=each.tp.partition,
        target_topic=each.target.topic,
        mode=each.mode,
        source_end=each.source_end,
        target_end=each.target_end,
        missing=_known(each.missing),
        at_least=each.at_least,
        as_of=each.as_of,
        beyond=each.beyond,
        trouble=as_data(each.trouble) if each.trouble is not None else None,
        why=str(each.trouble or ""),
        silent=as_data(each.silent) if each.silent is not None else None,
    )


def _position_json(each: PositionPlan) -> PositionPlanJson:
    position, answer = each.position, each.position.answer
    return PositionPlanJson(
        group=position.group.name,
        mirror_group=position.mirror_group,
        topic=position.tp.topic,
        partition=position.tp.partition,
        source=position.source,
        target=answer.offset if answer is not None else None,
        exactness=str(answer.exactness) if answer is not None else None,
        again=_known(each.again),
        follow=each.follow,
        ahead=each.ahead,
        writes=each.writes,
        outcome=str(position.outcome),
        reason=as_data(position.reason) if position.reason is not None else None,
        why=str(position.reason or ""),
    )


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value
