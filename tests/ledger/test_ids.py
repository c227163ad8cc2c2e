"""The map of schema ids: which decisions hold for which records. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.ledger.books import LinkBooks
from towpath.ledger.books.id_table import IdTables
from towpath.ledger.books.ids import IdBooks, SchemaName, written_ids
from towpath.ledger.entries import AwaitedIds, DecidedIds, Removed, decode, encode
from towpath.model.changes import Framing, IdChange, SubjectStrategy
from towpath.model.nouns import LinkName, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.subjects import GIVEN, may_use
from towpath.wire.ids import IdTable

LINK, ORDERS = LinkName("ids"), TopicName("orders")
GUID, OTHER = UUID(int=5), UUID(int=1 << 127)
ABSENT = Reason.of(ReasonCode.SCHEMA_ID_ABSENT)
TOPIC, RECORD, BOTH = SubjectStrategy


def registered(name: str, **subjects: Mapping[SchemaName, SchemaName]) -> DecidedIds:
    made = {subject.replace("_", "-"): written_ids(ids) for subject, ids in subjects.items()}
    return DecidedIds(link=LINK, name=name, at=1, subjects=made)


def passing(name: str, *ids: int, part: str = "values", why: Reason = ABSENT) -> DecidedIds:
    made = {ORDERS: tuple((each, each) for each in ids)}
    return DecidedIds(
        link=LINK, name=name, at=1, why=why,
        keys=made if part == "keys" else {}, values=made if part == "values" else {},
    )  # fmt: skip


def books(*entries: DecidedIds | AwaitedIds | Removed) -> IdBooks:
    found = LinkBooks(LINK)
    for entry in entries:
        read = decode(*encode(entry))
        assert read is not None
        found.take(read)
    return found.ids


@pytest.mark.parametrize(
    ("strategy", "part", "subject", "may"),
    [
        (TOPIC, "value", "orders-value", True),
        (TOPIC, "value", ":.eu:orders-value", True),
        (TOPIC, "value", "orders-key", False),
        (TOPIC, "key", "orders-key", True),
        (TOPIC, "value", "orders", False),
        (TOPIC, "value", "other-orders-value", False),
        (BOTH, "value", "orders-com.acme.Order", True),
        (BOTH, "key", ":.eu:orders-com.acme.Order", True),
        (BOTH, "value", "orders2-com.acme.Order", False),
        (RECORD, "value", "com.acme.Order", True),
        (TOPIC, "value", "::orders-value", False),
    ],
)
def test_strategies_tell_which_subjects_records_name(
    strategy: SubjectStrategy, part: str, subject: str, may: bool
) -> None:
    assert may_use(strategy, "orders", part, subject) is may


def test_one_id_may_become_two_under_different_subjects() -> None:
    found = books(registered("a", orders_value={7: 107}, bills_value={7: 207}, orders_key={3: 103}))
    assert found.decisions(TOPIC, ORDERS, "value") == {7: 107}
    assert found.decisions(TOPIC, TopicName("bills"), "value") == {7: 207}
    assert found.decisions(TOPIC, ORDERS, "key") == {3: 103}
    assert found.decisions(RECORD, ORDERS, "value") == {7: 107, 3: 103}, "the first one holds"


def test_the_first_decision_holds_whoever_made_it() -> None:
    first = registered("a", orders_value={7: 107})
    late = registered("b", orders_value={7: 999, 8: 108})
    assert books(first, late).decisions(TOPIC, ORDERS, "value") == {7: 107, 8: 108}
    given_up = books(passing("x", 7), first)
    assert given_up.decisions(TOPIC, ORDERS, "value") == {7: 7}
    assert books(first, passing("x", 7)).decisions(TOPIC, ORDERS, "value") == {7: 107}
    assert given_up.decisions(TOPIC, TopicName("bills"), "value") == {}
    assert given_up.decisions(RECORD, TopicName("bills"), "value") == {7: 107}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5), st.integers(1, 9)), max_size=20)
)
def test_decisions_only_grow(made: list[tuple[str, int, int]]) -> None:
    found, before = IdBooks(), dict[SubjectStrategy, dict[SchemaName, SchemaName | None]]()
    for number, (subject, source, target) in enumerate(made):
        ids: dict[SchemaName, SchemaName] = {source: target}
        entry = registered(str(number), **{f"orders_{subject}": ids})
        found.take(entry)
        for strategy in SubjectStrategy:
            now = found.decisions(strategy, ORDERS, "a")
            known = before.get(strategy, {})
            assert {name: now[name] for name in now if name in known} == known
            before[strategy] = now


def test_what_passes_is_counted_by_reason() -> None:
    none = DecidedIds(
        link=LINK, name="n", at=1, keys={ORDERS: ((9, None),)},
        why=Reason.of(ReasonCode.SCHEMA_ID_LEFT_OUT, subject="x"),
    )  # fmt: skip
    found = books(passing("a", 7, 8), none, registered("b", orders_value={1: 2}))
    assert found.passed == {"SCHEMA_ID_ABSENT": 2, "SCHEMA_ID_LEFT_OUT": 1}


def test_guids_and_uuids_of_glue_are_ids_too() -> None:
    made = registered("a", orders_value={GUID: OTHER, 7: 107})
    given = DecidedIds(
        link=LINK, name="g", at=1, subjects={GIVEN: written_ids({OTHER: 5, 8: GUID})}
    )
    found = books(made, given)
    table = IdTables(found).of(ORDERS, IdChange())
    assert (table.value == IdTable.of(value={GUID: OTHER, 7: 107}).value).all()
    assert len(table.key) == 0
    glue = IdTables(found).of(ORDERS, IdChange(framing=Framing.FROM_GLUE, key=None))
    assert (glue.value == IdTable.of(value={OTHER: 5, 8: GUID}).value).all()
    assert len(glue.key) == 0
    assert len(IdTables(found).of(ORDERS, IdChange(value=RECORD)).value) == 2


def test_what_a_partition_waits_for_is_known_until_it_waits_no_more() -> None:
    tp = TopicPartition(ORDERS, 3)
    waits = AwaitedIds(
        link=LINK, topic=ORDERS, partition=3, name="n", at=5, keys=(), values=(7, str(GUID))
    )
    assert books(waits).awaited == {tp: waits}
    assert books(waits, Removed(AwaitedIds.kind, LINK, waits.about())).awaited == {}


def test_forty_thousand_ids_are_small() -> None:
    size = 0
    for first in range(0, 40_000, 1_000):
        ids = {f"com.acme.topic{n}-value": ((n, n + 100_000),) for n in range(first, first + 1_000)}
        _, value = encode(DecidedIds(link=LINK, name=f"{first:x}", at=1, subjects=ids))
        size += len(value or b"")
    assert size < 2 << 20
