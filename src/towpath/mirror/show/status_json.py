"""The status of a link as JSON for programs. Pure."""

from __future__ import annotations

from towpath.cli.show.schema_ids import ids_as_json
from towpath.ledger.alive import RunLife
from towpath.ledger.entries import Cut, Foretold, Gap, Journal, LinkLease, Restarted
from towpath.mirror.show import limits
from towpath.mirror.show.entries_json import lost_as_json, open_as_json, pause_as_json
from towpath.mirror.show.shapes import deleted_as_json, risks_as_json, state_as_json
from towpath.mirror.show.status_shapes import (
    CutJson,
    FailedStepJson,
    ForetoldJson,
    GapJson,
    GroupsJson,
    HolderJson,
    LateGroupJson,
    LeaseJson,
    MissingEventsJson,
    OvertakenJson,
    PartitionJson,
    ReasonJson,
    RestartJson,
    RunJson,
    SetAsideJson,
    StatusJson,
    TotalsJson,
)
from towpath.mirror.status.known_groups import GroupsStanding
from towpath.mirror.status.overtaken import Overtaken
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.set_aside import SetAside
from towpath.mirror.status.totals import SortOrder, Totals, ordered, totals
from towpath.mirror.status.whole_link import LinkStatus
from towpath.model.reasons import Reason, as_data


def link_as_json(seen: LinkStatus, order: SortOrder = SortOrder.NAME) -> StatusJson:
    """Return the status of a link for programs."""
    return StatusJson(
        link=seen.link,
        run=_run(seen.run) if seen.run else None,
        lease=_lease(seen.lease) if seen.lease else None,
        lost_entries=str(seen.lost) if seen.lost else None,
        totals=_totals(totals(seen.rows)),
        partitions=[as_json(row) for row in ordered(seen.rows, order)],
        max_rate=limits.as_data(seen.limits),
        lag_seconds_at_least=limits.least_seconds(seen.limits, seen.rows),
        states=[state_as_json(state) for state in seen.states],
        paused=[pause_as_json(pause) for pause in seen.pauses],
        groups=_groups(seen.groups) if seen.groups is not None else None,
        schema_ids=ids_as_json(seen.ids) if seen.ids is not None else None,
        foretold=[_foretold(entry) for entry in seen.foretold],
        at_risk=risks_as_json(seen.at_risk),
        at_risk_unknown={str(name): why for name, why in seen.unforeseen.items()},
        late_groups=[
            LateGroupJson(group=each.group, members=[*each.members], error=each.error or None)
            for each in seen.late
        ],
        overtaken=_overtaken(seen.overtaken) if seen.overtaken is not None else None,
        source_gone=seen.source_gone or None,
        failed_steps=[_failed(entry) for entry in seen.failed],
    )


def as_json(row: PartitionStatus) -> PartitionJson:
    """Return a partition's status for programs."""
    return PartitionJson(
        topic=row.topic,
        partition=row.partition,
        target_topic=row.target_topic,
        state=str(row.state),
        mode=row.mode,
        reason=row.reason,
        producer_id=row.producer_id,
        source_end=row.source_end,
        target_end=row.target_end,
        lag_records=row.lag_records,
        lag_seconds=row.lag_seconds,
        records=row.records,
        bytes=row.bytes,
        gaps=[_gap(gap) for gap in row.gaps],
        error=row.error,
        lost=lost_as_json(row.lost) if row.lost is not None else None,
        holes=row.holes,
        transacted=row.transacted,
        codes=list(row.codes),
        source_log_end=row.source_log_end,
        target_log_end=row.target_log_end,
        pause=pause_as_json(row.pause) if row.pause is not None else None,
        cut=_cut(row.cut) if row.cut is not None else None,
        restart=_restart(row.restart) if row.restart is not None else None,
        change=row.change,
        tally=list(row.tally),
        set_aside=_set_aside(row.set_aside),
        deleted=deleted_as_json(row.deleted) if row.deleted is not None else None,
        lag_log_bytes=row.lag_log_bytes,
        unread_end=row.unread_end,
        clients_own=row.clients_own,
        unstable=row.unstable,
        open_transaction=open_as_json(row.open) if row.open is not None else None,
        before_start=row.before,
        stray_records=row.strays,
        stray_offsets_not_kept=row.unkept,
    )


def _run(run: RunLife) -> RunJson:
    return RunJson(
        state=str(run.state),
        host=run.host,
        pid=run.pid,
        since=run.since,
        beat=run.beat,
        silence=run.silence,
    )


def _lease(lease: LinkLease) -> LeaseJson:
    replaced, missing = lease.replaced, lease.missing_events
    return LeaseJson(
        link=lease.link,
        owner=lease.owner,
        command=lease.command,
        host=lease.host,
        pid=lease.pid,
        since=lease.since,
        beat=lease.beat,
        over=lease.over,
        work=lease.work,
        replaced=HolderJson(
            command=replaced.command, host=replaced.host, pid=replaced.pid, since=replaced.since
        )
        if replaced
        else None,
        missing_events=MissingEventsJson(count=missing.count, why=missing.why) if missing else None,
        space=lease.space,
    )


def _totals(sums: Totals) -> TotalsJson:
    return TotalsJson(
        partitions=sums.partitions,
        states={str(state): number for state, number in sums.states.items()},
        records=sums.records,
        bytes=sums.bytes,
        lag_records=sums.lag_records,
        lag_bytes_estimated=None if sums.unsized else sums.lag_bytes,
        lag_seconds=sums.lag_seconds,
        lag_seconds_longest_known=sums.longest,
        lag_unknown=sums.untimed,
        deleted_at_most=sums.deleted,
        unstable=sums.unstable,
    )


def _gap(gap: Gap) -> GapJson:
    return GapJson(
        link=gap.link,
        topic=gap.topic,
        partition=gap.partition,
        producer_id=gap.producer_id,
        first=gap.first,
        end=gap.end,
        why=_reason(gap.why),
        went_on=gap.went_on,
        at=gap.at,
        target=gap.target,
    )


def _reason(reason: Reason) -> ReasonJson:
    values = [
        (name, _reason(value) if isinstance(value, Reason) else value)
        for name, value in reason.values
    ]
    return ReasonJson(code=str(reason.code), values=values)


def _cut(cut: Cut) -> CutJson:
    return CutJson(
        link=cut.link,
        topic=cut.topic,
        partition=cut.partition,
        producer_id=cut.producer_id,
        source_end=cut.source_end,
        target_end=cut.target_end,
        records=cut.records,
        at=cut.at,
        fences=cut.fences,
        passed=cut.passed,
    )


def _restart(restart: Restarted) -> RestartJson:
    return RestartJson(
        link=restart.link,
        topic=restart.topic,
        source_topic_id=restart.source_topic_id,
        user=restart.user,
        host=restart.host,
        at=restart.at,
    )


def _set_aside(found: SetAside) -> SetAsideJson:
    return SetAsideJson(quarantined=list(found.quarantined), skipped=list(found.skipped))


def _overtaken(found: Overtaken) -> OvertakenJson:
    return OvertakenJson(
        group=found.group,
        topic=found.tp.topic,
        partition=found.tp.partition,
        committed=found.committed,
        copied=found.copied,
        offsets=found.offsets,
        partitions=found.partitions,
    )


def _groups(found: GroupsStanding) -> GroupsJson:
    return GroupsJson(
        asked=found.asked,
        groups=found.groups,
        positions_there=found.there,
        positions_left=found.left,
        at=found.at or None,
    )


def _foretold(entry: Foretold) -> ForetoldJson:
    return ForetoldJson(
        link=entry.link,
        topic=entry.topic,
        target_id=entry.target_id,
        reasons=[as_data(reason) for reason in entry.reasons],
        ranges=list(entry.ranges),
        kept=entry.kept,
        meant=entry.meant,
        at=entry.at,
        reason=entry.reason,
        offsets=entry.offsets,
    )


def _failed(entry: Journal) -> FailedStepJson:
    return FailedStepJson(
        link=entry.link,
        subject=entry.subject,
        name=entry.name,
        do=entry.do,
        part=entry.part,
        step=dict(entry.step),
        phase=str(entry.phase),
        plan=entry.plan,
        owned=entry.owned,
        topic_id=entry.topic_id,
        error=entry.error,
        at=entry.at,
    )
