"""The order of a cutover's parts: what begins, what does not, and what is told. Pure."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.ledger.standings import ROW
from towpath.compare.others import OtherRecords
from towpath.compare.work import Comparison, Counts
from towpath.ledger.books import PartitionBooks
from towpath.mirror.cutover.order import Order, judge, judge_rehearsal
from towpath.mirror.cutover.report import CutoverReport
from towpath.mirror.cutover.writers import Writing
from towpath.mirror.verify.surplus import OthersRule
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict, verdict
from towpath.model.errors import (
    LinkBusyError,
    LinkHeldError,
    StoppedError,
    TowpathError,
    UnreachableError,
)
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import LinkName, ProducerId, TopicName, TopicPartition
from towpath.plan.model import Plan
from towpath.wire.digest import Digest

ORDERS = TopicName("orders")
TP = TopicPartition(ORDERS, 0)
GREW = Writing(TP, 10, 20, ())
PARTS = ["look", "drain", "sync", "verify", "look again"]
"""The parts before the cutover is recorded."""
AWAY = UnreachableError("target", "comparing", "no answer", "start it")


def fresh(*topics: TopicName) -> CutoverReport:
    names = {name: name for name in topics or (ORDERS,)}
    return CutoverReport(Plan(link=LinkName("shop"), source=None, target=None, topics=names))


class Script:
    """Parts that note that they were begun, and do what a test says."""

    def __init__(self, report: CutoverReport, **then: Callable[[CutoverReport], None]) -> None:
        self.report, self._then = report, then
        self.begun: list[str] = []
        self.brings_groups = "groups" in then
        self.holds_out = "settle" in then

    def _part(self, name: str) -> None:
        self.begun.append(name.replace("_", " "))
        if name in self._then:
            self._then[name](self.report)

    def look(self) -> None:
        self._part("look")

    def rehearse(self) -> None:
        self._part("rehearse")

    def drain(self) -> None:
        self._part("drain")

    def sync(self) -> None:
        self._part("sync")

    def verify(self) -> None:
        self._part("verify")

    def look_again(self) -> None:
        self._part("look_again")

    def groups(self) -> None:
        self._part("groups")

    def look_once_more(self) -> None:
        self._part("look_once_more")

    def record(self) -> None:
        self._part("record")

    def settle(self) -> None:
        self._part("settle")


def cut(stop: threading.Event | None = None, /, **then: Callable[[CutoverReport], None]) -> Script:
    """Do all parts of a cutover."""
    parts = Script(fresh(), **then)
    order = Order(parts.report, parts, stop or threading.Event())
    if order.begin():
        order.finish()
    return parts


def fails(error: TowpathError) -> Callable[[CutoverReport], None]:
    def part(_: CutoverReport) -> None:
        raise error

    return part


def finds(text: str) -> Callable[[CutoverReport], None]:
    return lambda report: report.trouble.append(text)


def writes(report: CutoverReport) -> None:
    report.writing = (GREW,)


def test_all_parts_follow_each_other_and_are_timed() -> None:
    parts = cut()
    assert parts.begun == list(parts.report.seconds) == [*PARTS, "record"]
    assert parts.report.complete
    assert parts.report.touched


def test_groups_are_brought_over_last_and_only_if_all_else_is_done() -> None:
    parts = cut(groups=lambda _: None)
    assert parts.begun == [*PARTS, "groups", "look once more", "record"]
    assert parts.begun == list(parts.report.seconds)
    left = cut(groups=finds("group g is not brought over"))
    assert left.begun == [*PARTS, "groups"]
    assert not left.report.complete
    assert cut(verify=finds("different"), groups=lambda _: None).begun[-1] != "groups"


def test_what_was_written_while_groups_were_brought_over_prevents_it() -> None:
    left = cut(groups=lambda _: None, look_once_more=writes, settle=lambda _: None)
    assert left.begun == [*PARTS, "groups", "look once more"]
    assert not left.report.complete
    assert left.report.writing == (GREW,)
    assert "look once more" not in cut().begun, "nothing lies between: producers were looked at"


def test_what_was_held_out_is_set_behind_the_cut() -> None:
    assert cut(settle=lambda _: None).begun == [*PARTS, "record", "settle"]
    assert "settle" not in cut(record=fails(AWAY), settle=lambda _: None).begun
    assert not cut(settle=finds("the target refuses it")).report.complete


def test_a_cutover_that_cannot_be_recorded_is_not_complete() -> None:
    parts = cut(record=fails(AWAY))
    assert not parts.report.complete
    assert parts.report.trouble == [f"record: {AWAY}"]


def test_nothing_is_begun_while_somebody_writes() -> None:
    parts = cut(look=writes)
    assert parts.begun == ["look"]
    assert not parts.report.complete
    assert not parts.report.touched


@pytest.mark.parametrize(("part", "begun"), [("drain", PARTS[:2]), ("sync", PARTS[:3])])
def test_trouble_in_a_part_ends_it(part: str, begun: list[str]) -> None:
    parts = cut(**{part: finds("a topic is left out")})
    assert (parts.begun, parts.report.trouble) == (begun, ["a topic is left out"])


def test_what_differs_is_looked_at_once_more() -> None:
    assert cut(verify=finds("a partition lost all its records")).begun == PARTS


def test_an_error_is_told_with_its_part_and_ends_it() -> None:
    parts = cut(verify=fails(AWAY))
    assert parts.begun == PARTS[:4]
    assert parts.report.failure is AWAY
    assert parts.report.trouble == [f"verify: {AWAY}"]
    assert "verify" in parts.report.seconds


def test_a_stop_within_a_part_and_between_two() -> None:
    within = cut(verify=fails(StoppedError("not everything was compared")))
    assert within.report.trouble == ["stopped: not everything was compared"]
    stop = threading.Event()
    between = cut(stop, drain=lambda _: stop.set())
    assert between.begun == PARTS[:2]
    assert between.report.trouble == ["stopped: before the part `sync`"]


@pytest.mark.parametrize(
    "error",
    [LinkBusyError("shop", "on h, pid 1"), LinkHeldError("shop", "run", "on h, pid 1")],
)
def test_a_run_elsewhere_has_to_be_stopped_first(error: TowpathError) -> None:
    [told] = cut(drain=fails(error)).report.trouble
    assert told == (
        "drain: link shop is running (on h, pid 1); stop that `towpath run` first, it drains when"
        " it gets Ctrl-C or SIGTERM"
    )


def test_another_command_elsewhere_is_named() -> None:
    error = LinkHeldError("shop", "apply", "on h, pid 1")
    assert cut(drain=fails(error)).report.trouble == [f"drain: {error}"]


def test_a_rehearsal_goes_on_while_somebody_writes() -> None:
    parts = Script(fresh(), look=writes)
    Order(parts.report, parts, threading.Event()).rehearse()
    assert parts.begun == ["look", "rehearse"]
    assert parts.report.complete, "there is nothing to mend"
    assert not parts.report.touched
    mends = Script(fresh(), look=writes, rehearse=finds("different"))
    Order(mends.report, mends, threading.Event()).rehearse()
    assert not mends.report.complete


def test_a_rehearsal_ends_with_an_error_and_without_topics() -> None:
    failed = Script(fresh(), look=fails(AWAY))
    Order(failed.report, failed, threading.Event()).rehearse()
    none = Script(CutoverReport(Plan(link=LinkName("shop"), source=None, target=None)))
    Order(none.report, none, threading.Event()).rehearse()
    assert failed.begun == none.begun == ["look"]


def row(topic: TopicName, verdict: Verdict, why: str, *, late: bool = False) -> PartitionVerdict:
    return PartitionVerdict(
        topic=topic,
        partition=0,
        target_topic=topic,
        mode="identical",
        verdict=verdict,
        why=why,
        behind=0,
        comparison=None,
        late=late,
    )


def test_records_written_meanwhile_are_not_told_twice() -> None:
    report = fresh()
    late = row(ORDERS, Verdict.LEFT_OUT, "10 offsets are missing", late=True)
    other = row(TopicName("other"), Verdict.LEFT_OUT, "10 offsets are missing", late=True)
    wrong = row(TopicName("wrong"), Verdict.DIFFERENT, "offset 5 differs")
    new = row(TopicName("new"), Verdict.LEFT_OUT, "was never copied")
    fine = row(TopicName("fine"), Verdict.EQUAL, "")
    report.verdicts = (late, other, wrong, new, fine)
    report.writing, report.appeared = (GREW,), frozenset({new.topic})
    judge(report)
    assert report.trouble == [f"other-0: {other.why}", "wrong-0: offset 5 differs"]


def test_a_rehearsal_counts_all_that_would_end_the_cutover_and_says_it_once() -> None:
    """Topics at risk, and what could not be proven, were passed over."""
    report = fresh()
    bad = {
        Verdict.DIFFERENT: "offset 5 differs",
        Verdict.DELETED: "3 are gone",
        Verdict.NOT_PROVEN: "nobody knows",
        Verdict.AT_RISK: "it keeps less",
    }
    report.verdicts = (
        *(row(TopicName(verdict.name), verdict, why) for verdict, why in bad.items()),
        row(TopicName("told"), Verdict.AT_RISK, "it keeps less"),
        row(TopicName("late"), Verdict.LEFT_OUT, "2 records behind"),
        row(TopicName("fine"), Verdict.EQUAL, ""),
    )
    problem = Problem("told", "it keeps less", Cause.KEEPS_LESS)
    report.plan = replace(report.plan, problems=(problem,))
    judge_rehearsal(report)
    assert report.trouble == [f"{verdict.name}-0: {why}" for verdict, why in bad.items()]


def test_values_that_no_query_can_make_again_prevent_it_unless_that_is_accepted() -> None:
    unmade = replace(row(ORDERS, Verdict.LEFT_OUT, "values not compared"), counted_only=True)
    behind = replace(unmade, behind=3)
    told = "orders-0: values not compared"
    for accepted, rehearsed, each, trouble in (
        (False, False, unmade, [f"{told}; to cut over all the same, add --without-values"]),
        (False, True, behind, [f"{told}; to cut over all the same, add --without-values"]),
        (True, False, unmade, []),
        (True, False, behind, [told]),
        (True, True, behind, []),
    ):
        report = fresh()
        report.verdicts, report.rehearsed = (each,), rehearsed
        (judge_rehearsal if rehearsed else judge)(report, without_values=accepted)
        assert report.trouble == trouble, (accepted, rehearsed)
        accepted_notes = [f"{told}; that is meant (--without-values)"]
        assert [str(note) for note in report.notes] == ([] if trouble else accepted_notes)


def test_surplus_records_prevent_it_also_where_somebody_writes() -> None:
    """A partition that only lags is told with its writers; one with surplus records is wrong."""
    others = OtherRecords(3, 10, ((ProducerId(-1), 3),))
    compared = Comparison(
        source=TP,
        target=TP,
        first=0,
        end=10,
        source_digest=Digest(),
        target_digest=Digest(),
        counts=Counts(equal=10, foreign=3),
        bytes=1,
        others=others,
    )

    def told(*, shared: bool) -> list[str]:
        rule = OthersRule(LinkName("shop"), lambda _: None, shared=shared)
        report = fresh()
        report.verdicts = (verdict(ROW, PartitionBooks(), compared, "", others=rule),)
        report.writing = (GREW,)
        judge(report)
        return report.trouble

    (text,) = told(shared=False)
    assert text.startswith(
        "orders-0: 3 records on the target are surplus: this link did not write them (3 of"
        " producers without an id; the first at target offset 10)"
    )
    assert told(shared=True) == []
