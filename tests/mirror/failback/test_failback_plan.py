"""What a failback will do: who wins, what is salvaged, where the link back begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.failback import CUT, SALVAGED, found, log
from tests.support.ledger.books import TP, opened
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Cut, LinkStage, LinkState, Opened
from towpath.mirror.failback.divergence import Divergence
from towpath.mirror.failback.divergence_search import FailbackLook
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.failback_plan import (
    FailbackPlan,
    borders,
    due,
    refusal,
    require_same_answer,
)
from towpath.mirror.failback.request import FailbackRequest
from towpath.mirror.failback.scope import require_over
from towpath.model.errors import ConfigError, LedgerError
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import LinkName, Side, TargetOffset, TopicName
from towpath.settings import load

BOTH = found(log(13), log(17)).counted(3, 7)


def plan(*partitions: Divergence, wins: Side | None = None, problem: str = "") -> FailbackPlan:
    problems = (Problem(TP.topic, problem, Cause.TOPIC),) if problem else ()
    return FailbackPlan(
        link=LinkName("l"),
        back=LinkName("l-back"),
        look=FailbackLook(partitions, problems),
        wins=wins,
        states={},
    )


def losers(made: FailbackPlan) -> list[tuple[Side, int, int]]:
    return [(side, own.first, own.end) for side in Side for _, own in made.losers(side)]


def test_nothing_is_done_before_somebody_says_who_wins() -> None:
    made = plan(BOTH)
    assert not made.ready
    assert losers(made) == []
    text = refusal(made)
    assert "1 partition was written on both sides since the cut: 3 records the source" in text
    assert "7 records the target alone; say with --wins source or --wins target" in text


def test_what_loses_is_salvaged_once() -> None:
    assert losers(plan(BOTH, wins=Side.TARGET)) == [(Side.SOURCE, 10, 13)]
    assert losers(plan(BOTH, wins=Side.SOURCE)) == [(Side.TARGET, 10, 17)]
    known = replace(BOTH, salvaged=(replace(SALVAGED, end=13),))
    assert losers(plan(known)) == []
    assert plan(known).ready, "the decision is remembered"
    assert losers(plan(known, wins=Side.SOURCE)) == [], "it holds"
    grown = found(log(15), log(17), replace(SALVAGED, end=13))
    assert losers(plan(grown)) == [(Side.SOURCE, 13, 15)], "what was salvaged is not copied again"


def test_another_answer_than_the_first_one_is_refused() -> None:
    known = PartitionBooks()
    known.take(opened(producer_id=SALVAGED.producer_id))
    require_same_answer({TP: known}, Side.SOURCE)
    known.take(SALVAGED)
    for same in (None, SALVAGED.winner):
        require_same_answer({TP: known}, same)
    with pytest.raises(LedgerError, match=r"--wins source contradicts .* in t-0, the target wins"):
        require_same_answer({TP: known}, Side.SOURCE)


def test_the_link_back_begins_behind_what_was_salvaged_of_the_target() -> None:
    """What clients write there later is copied; the decision is known where nothing is new."""
    entry = replace(SALVAGED, side=Side.TARGET, end=17)
    unmoved = found(log(13), log(20), entry)
    moved = replace(CUT, target_end=TargetOffset(17), at=9)
    assert borders(plan(unmoved), 9) == [moved]
    behind = replace(unmoved, cut=moved, target=replace(unmoved.target, first=17, end=17))
    assert borders(plan(behind), 9) == []
    assert losers(plan(behind)) == []
    assert plan(behind).winner(behind) is Side.SOURCE


def test_the_link_back_begins_earlier_where_the_source_lost_mirrored_records() -> None:
    lost = found(log(13), log(17), shared=7)
    [border] = borders(plan(lost, wins=Side.TARGET), 9)
    assert (border.source_end, border.target_end) == (7, 7)
    assert borders(plan(found(log(10), log(17))), 9) == []


def test_where_one_side_alone_was_written_nothing_is_decided() -> None:
    tail, new = found(log(13), log(10)), found(log(10), log(17))
    made = plan(tail, new)
    assert made.ready
    assert (made.conflicts, made.tails) == ((), (tail,))
    assert losers(made) == []
    assert made.mapped == (tail,)


def test_an_open_transaction_is_waited_for_where_it_matters() -> None:
    source, target = found(log(13, stable=12), log(17)), found(log(13), log(17, stable=12))
    assert "a transaction is open on the source from offset 12 on" in plan(source).refusals[0]
    assert plan(target, wins=Side.TARGET).ready, "clients of the target go on"
    [text] = plan(target, wins=Side.SOURCE).refusals
    assert "a transaction is open on the target from offset 12 on" in text


def test_a_topic_that_cannot_go_back_stops_all() -> None:
    made = plan(found(log(10), log(17)), problem="was made again")
    assert not made.ready
    assert made.refusals == ("t: was made again",)
    assert "cannot be turned round, see above" in refusal(made)
    assert not plan().ready
    assert "has copied no topic" in refusal(plan())


def state(stage: LinkStage, topic: str = "") -> LinkState:
    return LinkState(
        link=LinkName("l"),
        topic=TopicName(topic),
        state=stage.value,
        since=1,
        user="u",
        host="h",
        version="1",
    )


def books(*entries: LinkState | Opened | Cut) -> LinkBooks:
    made = LinkBooks(LinkName("l"))
    for entry in entries:
        made.take(entry)
    return made


def test_topics_that_failed_over_later_are_turned_round_alone() -> None:
    over, done = state(LinkStage.FAILED_OVER, "t"), state(LinkStage.REVERSED, "u")
    assert due({over.topic: over, done.topic: done}) == {"t": over}
    made = plan(found(log(10), log(17)))
    assert not made.reversed
    assert not replace(made, states={over.topic: over, done.topic: done}).reversed
    assert replace(made, states={done.topic: done}).reversed


def test_only_what_is_over_is_turned_round() -> None:
    with pytest.raises(LedgerError, match="neither failed over nor cut over"):
        require_over(books())
    with pytest.raises(LedgerError, match="is sealed: its failover did not end"):
        require_over(books(state(LinkStage.SEALED)))
    assert require_over(books(opened(), CUT)) == {}
    over = state(LinkStage.FAILED_OVER)
    assert require_over(books(over)) == {"": over}
    part = state(LinkStage.FAILED_OVER, "t")
    assert require_over(books(part)) == {"t": part}


def test_a_topic_that_went_back_before_is_not_looked_at_again_with_the_rest() -> None:
    whole, done = state(LinkStage.FAILED_OVER), state(LinkStage.REVERSED, "t")
    assert require_over(books(whole, done)) == {"": whole, "t": done}
    assert due(require_over(books(whole, done))) == {"": whole}
    all_back = state(LinkStage.REVERSED)
    earlier = state(LinkStage.FAILED_OVER, "t")
    assert require_over(books(all_back, earlier)) == {"": all_back}, "it went with the link"


def test_what_was_cut_over_goes_back_with_topics_that_failed_over_before() -> None:
    over = state(LinkStage.FAILED_OVER, "u")
    found = require_over(books(over, opened(), CUT))
    assert [(topic, each.state) for topic, each in found.items()] == [
        ("", LinkStage.RUNNING),
        ("u", LinkStage.FAILED_OVER),
    ]
    assert require_over(books(over, opened(), CUT), lambda topic: topic != "t") == {"u": over}
    assert require_over(books(over, opened())) == {"u": over}, "a run goes on with the rest"


def test_a_link_with_a_twin_is_not_turned_round(tmp_path: Path) -> None:
    file = tmp_path / "link.yaml"
    file.write_text(
        "source: {bootstrap: 'a:1'}\ntarget: {bootstrap: 'b:1'}\nlink: forth\n"
        "topics: {include: ['orders'], twin: back}\n"
    )
    asked = FailbackRequest(file=file, to=file, wins=None, agreed=lambda _: False)
    with pytest.raises(ConfigError, match="its twin copies back already"):
        failback(load(file), asked)
