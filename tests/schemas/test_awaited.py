"""What slices are answered about ids of schemas, and when. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from towpath.ledger.books.ids import IdBooks, SchemaName
from towpath.ledger.entries import AwaitedIds, DecidedIds, RefusedIds, decode, encode
from towpath.mirror.run.id_desk import overruled
from towpath.model.changes import Framing, IdChange, SubjectStrategy
from towpath.model.nouns import LinkName, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.schemas import SubjectName
from towpath.model.subjects import GIVEN
from towpath.schemas import awaited as answering
from towpath.schemas.awaited import MOST, AwaitedId, IdAnswers
from towpath.schemas.ids import registered

LINK, ORDERS, BILLS = LinkName("ids"), TopicName("orders"), TopicName("bills")
ABSENT = Reason.of(ReasonCode.SCHEMA_ID_ABSENT)
LEFT_OUT = Reason.of(ReasonCode.SCHEMA_ID_LEFT_OUT, subject="orders-value")
UNSEEN = Reason.of(ReasonCode.SCHEMAS_UNSEEN, why="away")
CHANGE = IdChange(wait_ms=10_000)


def waits(
    partition: int, *values: int | str, topic: TopicName = ORDERS, name: str = ""
) -> AwaitedIds:
    return AwaitedIds(
        link=LINK, topic=topic, partition=partition, name=name or f"{topic}{partition}", at=0,
        keys=(), values=values,
    )  # fmt: skip


@dataclass
class Desk:
    """A desk with a clock of its own."""

    change: IdChange | None = CHANGE
    why: Reason = ABSENT
    books: IdBooks = field(default_factory=IdBooks)
    now: float = 100.0
    looks: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers = IdAnswers(LINK, self.books, lambda _: self.change)

    def turn(
        self, *entries: AwaitedIds | DecidedIds, took: float = 0.0
    ) -> list[DecidedIds | RefusedIds]:
        """Read entries, look if that is due, and return the answers, which are read at once."""
        for entry in entries:
            self.books.take(entry)
        if self.answers.look_is_due(self.now):
            self.looks.append(self.now)
            self.answers.looked(self.now, self.now + took)
            self.now += took
        made = self.answers.due(self.now, lambda _scope, _name: self.why)
        for answer in made:
            assert decode(*encode(answer)) == answer
            self.books.take(answer)
        return made

    def after(self, seconds: float) -> list[DecidedIds | RefusedIds]:
        self.now += seconds
        return self.turn()

    def becomes(self, *names: SchemaName) -> list[SchemaName | None]:
        found = self.books.decisions(SubjectStrategy.TOPIC, ORDERS, "value")
        return [found[each] for each in names]


def test_what_is_asked_is_looked_for_at_once() -> None:
    desk = Desk()
    assert desk.turn() == []
    assert desk.looks == []
    assert desk.turn(waits(0, 7)) == []
    assert desk.looks == [100.0]
    assert list(desk.answers.sentences()) == [f"waiting for id 7 in values of orders: {ABSENT}"]
    desk.turn(*registered(LINK, {SubjectName("orders-value"): {7: 107}}))
    assert desk.answers.look_is_due(desk.now + 60) is False
    assert desk.answers.waiting == 0


def test_an_id_that_stays_unknown_passes_after_the_bound() -> None:
    desk = Desk(why=LEFT_OUT)
    desk.turn(waits(0, 7, str(UUID(int=7))))
    assert desk.after(9.9) == []
    [made] = desk.after(0.2)
    assert isinstance(made, DecidedIds)
    assert made.why == LEFT_OUT
    assert desk.becomes(7, UUID(int=7)) == [7, UUID(int=7)]
    assert desk.after(100) == [], "one answer is enough"


def test_while_a_registry_is_away_nothing_is_decided() -> None:
    """Or an outage of a minute would leave an id untranslated for ever."""
    desk = Desk(why=UNSEEN)
    desk.turn(waits(0, 7))
    assert desk.after(9.9) == []
    [made] = desk.after(0.2)
    assert isinstance(made, RefusedIds)
    assert (made.partition, made.why) == (0, UNSEEN)
    assert desk.books.topics == {}
    desk.turn(waits(0, 7, name="later"))
    desk.turn(*registered(LINK, {SubjectName("orders-value"): {7: 107}}))
    assert desk.becomes(7) == [107]


def test_bytes_that_are_no_id_get_a_decision_that_says_so() -> None:
    desk = Desk()
    desk.turn(waits(0, 7))
    desk.after(11)
    assert desk.becomes(7) == [None]


def test_two_partitions_that_want_one_id_get_one_decision() -> None:
    desk = Desk()
    desk.turn(waits(0, 7), waits(1, 7, 8))
    [made] = desk.after(11)
    assert isinstance(made, DecidedIds)
    assert made.values == {ORDERS: ((7, None), (8, None))}


def test_strict_refuses_each_partition_and_decides_nothing() -> None:
    desk = Desk(change=replace(CHANGE, strict=True))
    desk.turn(waits(0, 7), waits(1, 7))
    made = desk.after(11)
    assert all(isinstance(each, RefusedIds) for each in made)
    assert [each.name for each in made] == ["orders0", "orders1"]
    assert desk.books.topics == {}
    assert desk.after(11) == []
    assert desk.turn(waits(0, 7, name="later")) == [], "who asks again waits again"
    assert len(desk.after(11)) == 1


def test_ids_are_looked_for_again_ever_more_rarely() -> None:
    desk = Desk(change=replace(CHANGE, wait_ms=3_600_000))
    desk.turn(waits(0, 7))
    for _ in range(600):
        desk.after(0.1)
    assert 8 <= len(desk.looks) <= 12
    before = len(desk.looks)
    desk.turn(waits(1, 8))
    assert len(desk.looks) == before + 1, "a new id does not wait for that"


def test_looks_take_a_tenth_of_the_time() -> None:
    desk = Desk(change=replace(CHANGE, wait_ms=3_600_000))
    desk.turn(waits(0, 1), took=1.0)
    for number in range(2, 100):
        desk.now += 0.1
        desk.turn(waits(0, number, name=str(number)), took=1.0)
    assert len(desk.looks) == 2


def test_a_registry_that_is_away_is_looked_for_soon_again() -> None:
    """Or its partitions would stop for the last look that failed, when it has long come back."""
    desk = Desk(change=replace(CHANGE, wait_ms=3_600_000))
    desk.turn(waits(0, 7))
    desk.answers.looked(desk.now + 1, desk.now + 31, answered=False)
    desk.now += 31
    assert not desk.answers.look_is_due(desk.now + 0.1)
    assert desk.answers.look_is_due(desk.now + 10)


def test_further_bytes_that_are_no_ids_do_not_wait() -> None:
    desk = Desk()
    desk.turn(waits(0, *range(1, 9)))
    desk.after(11)
    desk.now += 1
    [made] = desk.turn(waits(0, 99, name="next"))
    assert isinstance(made, DecidedIds)
    assert desk.becomes(99) == [None]
    desk.why = UNSEEN
    desk.now += 20
    assert desk.turn(waits(0, 100, name="away")) == [], "nothing says that this one is none"


def test_bytes_that_are_anything_but_ids_stop_the_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answering, "MOST", 4)
    assert MOST > 1000
    desk = Desk()
    desk.turn(waits(0, *range(1, 5)))
    desk.after(11)
    desk.turn(waits(0, 99, name="next"))
    [made] = desk.after(11)
    assert isinstance(made, RefusedIds)
    assert made.why.code is ReasonCode.SCHEMA_IDS_TOO_MANY


def test_what_earlier_runs_waited_for_is_not_answered() -> None:
    desk = Desk()
    desk.books.take(waits(0, 7))
    desk.answers.begin()
    desk.turn()
    assert desk.after(100) == []
    assert desk.looks == []
    desk.turn(waits(0, 7, name="new"))
    assert len(desk.looks) == 1


def test_guids_get_those_of_the_target() -> None:
    desk, ours, theirs = Desk(), UUID(int=1), UUID(int=2)
    desk.turn(waits(0, str(ours), str(UUID(int=3)), 7))
    [made] = desk.answers.guids({ours: theirs}.get)
    assert made.why is None
    assert made.values == {ORDERS: ((str(ours), str(theirs)),)}
    desk.books.take(made)
    assert desk.answers.guids({ours: theirs}.get) == []
    assert desk.books.passed == {}


def test_parts_without_ids_are_not_waited_for() -> None:
    for change in (None, replace(CHANGE, value=None)):
        desk = Desk(change=change)
        desk.turn(waits(0, 7))
        assert desk.looks == []
        assert desk.after(100) == []


def test_many_ids_are_written_in_few_entries() -> None:
    found: dict[SubjectName, dict[SchemaName, SchemaName]] = {
        SubjectName(f"s{n}"): {n: n + 1, -n: n + 2} for n in range(1, 1_300)
    }
    made = registered(LINK, found)
    assert len(made) == 3
    books = IdBooks()
    for entry in made:
        books.take(entry)
    assert {name: dict(scope) for name, scope in found.items()} == {
        subject: {name: each.becomes for name, each in scope.items()}
        for subject, scope in books.subjects.items()
    }
    assert len({entry.name for entry in made}) == 3


def test_who_waits_and_why_is_told() -> None:
    desk = Desk()
    desk.turn(waits(0, 9, topic=BILLS), waits(0, 7))
    assert AwaitedId(BILLS, "value", 9) in desk.answers.why
    assert [text.split(":")[0] for text in desk.answers.sentences()] == [
        "waiting for id 7 in values of orders",
        "waiting for id 9 in values of bills",
    ]


def test_an_id_that_the_file_gives_otherwise_than_it_is_decided_is_told() -> None:
    books, one, other = IdBooks(), UUID(int=1), UUID(int=2)
    [entry] = registered(LINK, {SubjectName(GIVEN): {one: 5, other: 6}})
    books.take(entry)
    change = IdChange(framing=Framing.FROM_GLUE)
    assert list(overruled({one: 5, UUID(int=3): 7}, books, lambda _: change)) == []
    assert list(overruled({one: 5, other: 8}, books, lambda _: change)) == [
        f"the file gives 8 for id {other}, but it was decided as 6 before records were written,"
        " and that holds"
    ]


def test_an_id_that_the_file_gives_after_it_has_passed_is_told_for_each_topic() -> None:
    desk = Desk(change=IdChange(framing=Framing.FROM_GLUE, wait_ms=10_000))
    late = UUID(int=4)
    desk.turn(waits(0, str(late)))
    [entry] = desk.after(11)
    assert isinstance(entry, DecidedIds)
    assert entry.why == Reason.of(ReasonCode.SCHEMA_ID_NOT_GIVEN)
    desk.turn(*registered(LINK, {SubjectName(GIVEN): {late: 9}}))
    assert list(overruled({late: 9}, desk.books, lambda _: desk.change)) == [
        f"the file gives 9 for id {late}, but it has passed unchanged in values of orders before"
        " the file gave it, and that holds"
    ]
    [decided] = [desk.books.decisions(None, topic, "value") for topic in (ORDERS,)]
    assert decided == {late: late}
    assert desk.books.decisions(None, BILLS, "value") == {late: 9}
    # Topics whose ids the registries translate have numbers of their own.
    assert list(overruled({late: 9}, desk.books, lambda _: CHANGE)) == []
