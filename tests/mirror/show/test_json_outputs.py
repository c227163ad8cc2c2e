"""`--output json` of status and verify: what programs read never changes, and fits its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.ledger.standings import ROW
from towpath.cli.show.json_schemas import adapter
from towpath.compare.doubled import Doubled, Stretch
from towpath.compare.work import Comparison, Counts, RecordDifference
from towpath.groups.group_lags import Lag, Lags
from towpath.groups.group_standings import GroupsLook
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.ledger.alive import Life, RunLife
from towpath.ledger.entries import (
    AwaitedIds,
    Cut,
    Foretold,
    Gap,
    Journal,
    LeaseHolder,
    LinkLease,
    LinkState,
    MissingEvents,
    Pause,
    Phase,
    Restarted,
    SetRate,
)
from towpath.ledger.events import Event, Origin
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.ledger.rates import Limits
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.partitions import PartitionPlan
from towpath.mirror.failover.request import FailoverReport
from towpath.mirror.show import failover_json as failover
from towpath.mirror.show import groups_picture as groups
from towpath.mirror.show import history_picture as history
from towpath.mirror.show.status_json import link_as_json
from towpath.mirror.show.verify_json import report
from towpath.mirror.status.known_groups import GroupsStanding
from towpath.mirror.status.late_members import LateGroup
from towpath.mirror.status.ledger_lost import LostEntries
from towpath.mirror.status.losses import LostRecords
from towpath.mirror.status.overtaken import ahead
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.set_aside import SetAside
from towpath.mirror.status.whole_link import LinkStatus
from towpath.mirror.verify.gone import Gone
from towpath.mirror.verify.surplus import OtherWriter
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.deleted import DeletedRecords, Deleter
from towpath.model.digest import Digest
from towpath.model.errors import UnreachableError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.target.fences import Fenced
from towpath.schemas.ids_standing import IdsStanding
from towpath.settings import RateConfig

NAMES = ("failover", "groups", "history", "status", "status-empty", "verify")
GOLDEN = Path(__file__).parent / "golden"
SHOP, ORDERS = LinkName("shop"), TopicName("orders")
ID = TopicId("x")
AT = 1_700_000_000_000
CAUSE = Reason.of(ReasonCode.TARGET_DELETED, first=0, last=3, records=4, exact=1, due=0, by="x")
DELETED = DeletedRecords(
    first=SourceOffset(0), end=SourceOffset(4), records=4, exact=True, why=(Deleter.TIME,)
)
PAUSE = Pause(link=SHOP, topic=ORDERS, user="ann", host="h1", at=AT)
FULL = PartitionStatus(
    topic=ORDERS, partition=1, target_topic=TopicName("eu.orders"), state=State.STOPPED,
    mode="mapped", reason="why", producer_id=7, source_end=10, target_end=12, lag_records=5,
    lag_seconds=1.5, records=10, bytes=100, error="it stopped", holes=2, transacted=3,
    gaps=(
        Gap(
            link=SHOP, topic=ORDERS, partition=1, producer_id=ProducerId(7),
            first=SourceOffset(3), end=SourceOffset(5), why=CAUSE, went_on=True, at=AT,
            target=TargetOffset(3),
        ),
    ),
    lost=LostRecords(TargetOffset(1), TargetOffset(2), SourceOffset(1), SourceOffset(2), 1),
    codes=("TARGET_DELETED",), source_log_end=15, target_log_end=20, pause=PAUSE,
    cut=Cut(
        link=SHOP, topic=ORDERS, partition=1, producer_id=ProducerId(7),
        source_end=SourceOffset(9), target_end=TargetOffset(9), records=9, at=AT,
    ),
    restart=Restarted(link=SHOP, topic=ORDERS, source_topic_id=ID, user="a", host="h", at=AT),
    change="d1", tally=(("dropped", 2),), set_aside=SetAside((("BAD", 1),), (("BAD", 2),)),
    deleted=DELETED, lag_log_bytes=50, unread_end=11,
)  # fmt: skip
SEEN = LinkStatus(
    link=SHOP,
    run=RunLife(state=Life.ALIVE, host="h1", pid=7, since=AT, beat=AT, silence=1.2),
    lease=LinkLease(
        link=SHOP, owner="o", command="run", host="h1", pid=7, since=AT, beat=AT, over=False,
        replaced=LeaseHolder(command="apply", host="h2", pid=8, since=AT),
        missing_events=MissingEvents(2, "away"), space="s",
    ),
    rows=(FULL, ROW),
    failed=(
        Journal(
            link=SHOP, subject="topics", name="orders", do="SetConfigs", part="retention.ms",
            step={"target": "orders", "set": [1, None]}, phase=Phase.FAILED, plan="", owned=True,
            topic_id=ID, error="refused", at=AT,
        ),
    ),
    lost=LostEntries(SHOP, (TopicPartition(ORDERS, 0),)),
    pauses=(PAUSE,),
    limits=Limits(
        RateConfig.model_validate({"link": "50MB", "topics": {"a.*": "1MB"}}),
        {ORDERS: SetRate(link=SHOP, topic=ORDERS, rate=1000, user="ann", host="h1", at=AT)},
    ),
    groups=GroupsStanding(asked=True, groups=2, there=3, left=1, at=AT),
    ids=IdsStanding(
        translated=3, untranslated={"ID_UNKNOWN": 1},
        awaited=(
            AwaitedIds(
                link=SHOP, topic=ORDERS, partition=1, keys=(), values=(4,), name="n", at=AT,
            ),
        ),
    ),
    foretold=(
        Foretold(
            link=SHOP, topic=ORDERS, target_id=ID, reasons=(CAUSE,), ranges=((0, 1, 3),),
            kept=True, meant=False, at=AT,
        ),
    ),
    late=(LateGroup(group="g", members=("app at /10.0.0.1",)),),
    overtaken=ahead("mover", {TopicPartition(ORDERS, 0): 10}, {TopicPartition(ORDERS, 0): 13}),
    source_gone="it is away",
)  # fmt: skip
EMPTY = LinkStatus(link=SHOP, run=None, lease=None, rows=(), failed=())
COMPARED = PartitionVerdict(
    topic=ORDERS, partition=1, target_topic=ORDERS, mode="mapped", verdict=Verdict.DIFFERENT,
    why="1 record differs", behind=5, late=False, codes=("TARGET_DELETED",), notes=("a note",),
    others=(OtherWriter(LinkName("b"), -1, 3),), clients=(OtherWriter(None, 9, 2),),
    gone=Gone(target=DELETED, source=1, both=2, compacted_target=3, compacted_source=4),
    comparison=Comparison(
        source=TopicPartition(ORDERS, 1), target=TopicPartition(ORDERS, 1), first=0, end=10,
        source_digest=Digest(10, 1, 2), target_digest=Digest(9, 3, 4),
        counts=Counts(equal=9, changed=1), bytes=100,
        difference=RecordDifference(3, 4, "value"),
        doubled=Doubled(stretches=(Stretch(TargetOffset(1), TargetOffset(3), 2),)), beyond=1,
        tally=(("dropped", 2),),
    ),
)  # fmt: skip
LEFT_OUT = PartitionVerdict(
    topic=ORDERS, partition=2, target_topic=ORDERS, mode="identical", verdict=Verdict.LEFT_OUT,
    why="paused", behind=0, comparison=None, late=False,
)  # fmt: skip

HISTORY = history.History(
    events=(
        Event(
            id="e1", at=AT, link=SHOP, what="run.started", about="",
            facts={"run_id": "x", "until_caught_up": False},
            origin=Origin(user="ann", login="", host="h1", pid=7, version="0.1"),
        ),
    ),
    earlier=2, foreign=1, missing=MissingEvents(1, "away"),
)  # fmt: skip
TP = TopicPartition(ORDERS, 1)
GROUPS = GroupsLook(
    link=SHOP, asked=True, gone="it is away",
    report=SyncReport(
        at=AT, retention=604_800_000,
        groups=(
            GroupReport(
                group=ClientGroup("billing"), mirror_group="eu.billing", source_state="Stable",
                target_state="", at=AT, remarks=(CAUSE,),
                positions=(
                    GroupPosition(
                        group=ClientGroup("billing"), mirror_group="eu.billing", tp=TP, mirror=TP,
                        source=SourceOffset(3), metadata="m", known=TargetOffset(4), reason=CAUSE,
                        answer=TranslatedOffset(TargetOffset(5), Exactness.BOUNDED, "why"),
                        outcome=PositionOutcome.NOT_ATTEMPTED,
                    ),
                    GroupPosition(
                        group=ClientGroup("billing"), mirror_group="eu.billing",
                        tp=TopicPartition(ORDERS, 2), mirror=None, source=SourceOffset(3),
                        metadata="", known=None, reason=None, answer=None,
                        outcome=PositionOutcome.UNKNOWN,
                    ),
                ),
            ),
        ),
    ),
    lags={(ClientGroup("billing"), TP): Lags(Lag(1, 61.0), Lag())},
)  # fmt: skip

STATE = LinkState(
    link=SHOP,
    state="failed_over",
    since=AT,
    user="ann",
    host="h1",
    version="0.2",
    attempt=1,
    forward=True,
    lost=2,
    again=0,
    unfenced=1,
)
PLAN = FailoverPlan(
    link=SHOP, at=AT, topics=(ORDERS,), groups=GROUPS.report, source_gone="it is away",
    unfenced="refused", held=(ORDERS,),
    partitions=(
        PartitionPlan(
            tp=TP, target=TopicPartition(TopicName("eu.orders"), 1), mode="identical",
            source_end=SourceOffset(3), target_end=TargetOffset(3), at_least=2, as_of=AT, log_end=3,
        ),
        PartitionPlan(
            tp=TopicPartition(ORDERS, 2), target=TopicPartition(TopicName("eu.orders"), 2),
            mode="mapped", source_end=SourceOffset(3), target_end=TargetOffset(4), missing=1,
            beyond=1, trouble=CAUSE,
        ),
    ),
)  # fmt: skip
FAILED_OVER = FailoverReport(
    plan=PLAN, done=True, after=PLAN, groups=GROUPS.report, state=STATE, missing=["orders-2: away"],
    fenced=Fenced(
        ends={TP: TargetOffset(3)}, fences={TP: 1},
        open={TP: UnreachableError(Side.TARGET, "x", "y")},
    ),
    seconds={"look": 0.5},
)  # fmt: skip


def samples() -> dict[str, Mapping[str, Any]]:
    """Return an output of each kind that has everything, and one that has next to nothing."""
    return {
        "failover": failover.as_json(FAILED_OVER, [STATE], "new:9092", dry_run=False),
        "groups": groups.as_json(GROUPS),
        "history": history.as_json(SHOP, HISTORY),
        "status": link_as_json(SEEN),
        "status-empty": link_as_json(EMPTY),
        "verify": report(SHOP, 3, [COMPARED, LEFT_OUT], 1.25),
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_output_is_as_ever(name: str) -> None:
    golden = (GOLDEN / f"{name}.json").read_text()
    assert json.dumps(samples()[name], indent=2) + "\n" == golden


@pytest.mark.parametrize("name", NAMES)
def test_the_output_fits_its_schema(name: str) -> None:
    """Types are checked strictly, and no key is without a description of its type."""
    written = json.dumps(samples()[name])
    adapter(name.partition("-")[0]).validate_json(written, strict=True)


def test_a_key_that_no_type_names_is_refused() -> None:
    written = json.dumps({**samples()["status-empty"], "new": 1})
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        adapter("status").validate_json(written)
