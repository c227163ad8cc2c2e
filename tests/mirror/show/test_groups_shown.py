"""Groups as text, at 80 columns, and as JSON."""

from __future__ import annotations

import json

from rich.console import Console, RenderableType

from towpath.groups.group_lags import Lag, Lags
from towpath.groups.group_standings import GroupsLook
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome, SyncReport
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.mirror.show.groups_picture import as_json, group_picture, list_picture, summary_picture
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

BILLING = ClientGroup("billing-of-all-payments")
SHARED = ClientGroup("workers", GroupKind.SHARE)
AT = 1_700_049_600_000
"""2023-11-15, 12:00 UTC."""


def position(
    number: int,
    exactness: Exactness = Exactness.EXACT,
    known: int | None = None,
    outcome: PositionOutcome = PositionOutcome.NOT_ATTEMPTED,
    reason: Reason | None = None,
    group: ClientGroup = BILLING,
) -> GroupPosition:
    tp = TopicPartition(TopicName("payments"), number)
    why = "" if exactness is Exactness.EXACT else "mirrored up to offset 5 so far"
    return GroupPosition(
        group=group,
        mirror_group=f"eu.{group.name}",
        tp=tp,
        mirror=tp,
        source=SourceOffset(3_000_000_000),
        metadata="",
        answer=TranslatedOffset(TargetOffset(3_000_000_010), exactness, why),
        known=None if known is None else TargetOffset(known),
        outcome=outcome,
        reason=reason,
    )


def group(of: ClientGroup, *positions: GroupPosition) -> GroupReport:
    return GroupReport(
        group=of,
        mirror_group=f"eu.{of.name}",
        source_state="Stable",
        target_state="Empty",
        at=AT,
        positions=positions,
    )


POSITIONS = (
    position(0, known=3_000_000_010, outcome=PositionOutcome.UNCHANGED),
    position(1),
    position(
        2,
        Exactness.NOT_YET,
        reason=Reason.of(ReasonCode.POSITION_AHEAD, offset=7, end=5),
    ),
)
REPORT = SyncReport(
    at=AT, groups=(group(BILLING, *POSITIONS), group(SHARED, position(0, group=SHARED)))
)
LAGS = {
    (BILLING, POSITIONS[0].tp): Lags(Lag(1_234_567, 61.0), Lag(12, 0.5)),
    (BILLING, POSITIONS[1].tp): Lags(Lag(0, 0.0), Lag()),
}
SEEN = GroupsLook(link=LinkName("shop"), asked=True, report=REPORT, lags=LAGS)


def as_text(shown: RenderableType) -> list[str]:
    console = Console(width=80, highlight=False, markup=False, color_system=None)
    with console.capture() as printed:
        console.print(shown)
    return [line.rstrip() for line in printed.get().splitlines()]


def test_the_list_has_kinds_and_states_on_both_sides() -> None:
    assert as_text(list_picture(SEEN)) == [
        "link shop: 2 groups",
        "group                    kind      source  target  partitions",
        "─" * 61,
        "billing-of-all-payments  consumer  Stable  Empty            3",
        "workers                  share     Stable  Empty            1",
    ]


def test_80_columns_cut_no_number() -> None:
    for picture in (list_picture, summary_picture, group_picture):
        assert max(map(len, as_text(picture(SEEN)))) <= 80
    text = "\n".join(as_text(group_picture(SEEN)))
    for whole in ("payments-0", "3,000,000,000", "3,000,000,010", "1,234,567", "✓ UNCHANGED"):
        assert whole in text, text
    assert "→ DUE\n" in text
    assert "✗ NOT_ATTEMPTED\n" in text
    summary = "\n".join(as_text(summary_picture(SEEN)))
    assert "1 UNCHANGED" in summary


def test_a_source_that_is_gone_and_a_file_without_the_section_are_told() -> None:
    gone = GroupsLook(link=LinkName("shop"), asked=False, report=REPORT, gone="source: no answer")
    text = " ".join(" ".join(as_text(list_picture(gone))).split())
    assert "as the ledger saw the groups last, at 2023-11-15T12:00:00Z" in text
    assert "the file has no section `groups`, so a run brings none of them over" in text


def test_json_has_both_lags_and_the_reasons() -> None:
    data = json.loads(json.dumps(as_json(SEEN)))
    first, second, third = data["groups"][0]["positions"]
    assert first["source_lag"] == {"records": 1_234_567, "seconds": 61.0}
    assert (first["target"], first["outcome"], first["due"]) == (3_000_000_010, "UNCHANGED", False)
    assert (second["due"], second["target_lag"]) == (True, {"records": None, "seconds": None})
    assert (third["reason"]["code"], third["due"]) == ("POSITION_AHEAD", False)
    assert data["groups"][1]["kind"] == "share"
    assert data["source_gone"] is None


def test_differences_are_the_positions_that_the_target_lacks() -> None:
    kept = SEEN.differences.report
    assert [(each.group.name, each.tp.partition) for each in kept.positions] == [
        (BILLING.name, 1),
        (BILLING.name, 2),
        (SHARED.name, 0),
    ]
    there = group(BILLING, POSITIONS[0])
    alike = GroupsLook(link=LinkName("l"), asked=True, report=SyncReport(at=AT, groups=(there,)))
    assert alike.differences.report.groups == ()


def test_only_what_no_later_sync_mends_is_trouble() -> None:
    assert not SEEN.trouble
    taken = Reason.of(ReasonCode.GROUP_NAME_TAKEN, name="a", owner="b")
    bad = group(BILLING, position(0, reason=taken))
    assert GroupsLook(
        link=LinkName("l"), asked=True, report=SyncReport(at=AT, groups=(bad,))
    ).trouble


def test_what_is_not_written_is_told_before_what_is_not_exact() -> None:
    lost = (
        position(number, Exactness.LOST, outcome=PositionOutcome.CONFIRMED) for number in range(30)
    )
    left = position(30, reason=Reason.of(ReasonCode.GROUP_HAS_MEMBERS, group="a", state="Stable"))
    report = SyncReport(at=AT, groups=(group(BILLING, *lost, left),))
    seen = GroupsLook(link=LinkName("eu"), asked=True, report=report)
    console = Console(width=80)
    with console.capture() as capture:
        console.print(summary_picture(seen))
    assert "payments-30: group a has members" in " ".join(capture.get().split())
    assert "11 more remarks" in capture.get()
