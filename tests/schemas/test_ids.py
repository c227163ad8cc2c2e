"""Which ids of two registries belong together, and why others have none. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.ledger.books.ids import IdBooks
from towpath.model.changes import SubjectStrategy
from towpath.model.errors import RegistryRefusedError, UnreachableError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import LinkName, Side
from towpath.model.reasons import ReasonCode
from towpath.model.schemas import SchemaId, SchemaVersion, SubjectName
from towpath.schemas.ids import conflicts, pairs, registered, undecided, unusable, why_unknown
from towpath.schemas.observed_schemas import ObservedSchemas, SeenVersion

ORDERS, BILLS, AWAY = (SubjectName(f"{name}-value") for name in ("orders", "bills", "away"))
LINK = LinkName("ids")
TOPIC = SubjectStrategy.TOPIC, "orders", "value"


def versions(*ids: int) -> dict[int, SeenVersion]:
    return {n: SeenVersion(SchemaId(id_), f"body {n}") for n, id_ in enumerate(ids, 1)}


SEEN = ObservedSchemas(
    source={ORDERS: versions(7, 8), BILLS: versions(7), AWAY: versions(9)},
    target={ORDERS: versions(107, 108), BILLS: versions(207)},
    wanted={ORDERS: ORDERS, BILLS: BILLS},
)
_HELD = (ORDERS, 1), (ORDERS, 2), (BILLS, 1)
PLACES = {at: at for at in map(SchemaVersion._make, _HELD)}


def test_ids_of_versions_that_are_equal_belong_together() -> None:
    assert pairs(SEEN, PLACES) == {ORDERS: {7: 107, 8: 108}, BILLS: {7: 207}}


def test_an_id_that_no_record_can_name_is_told_and_not_written() -> None:
    target = {ORDERS: versions(2**31 - 1, 2**31), BILLS: versions(2**32 + 207)}
    seen = replace(SEEN, target=target)
    assert pairs(seen, PLACES) == {ORDERS: {7: 2**31 - 1}}
    told = [str(problem) for problem in unusable(seen, PLACES)]
    assert [each.partition(":")[0] for each in told] == [BILLS, ORDERS]
    assert "version 1 has id 4294967503 on the target, and records have four bytes" in told[0]


def test_only_what_is_new_is_written() -> None:
    books = IdBooks()
    [entry] = registered(LINK, {ORDERS: {7: 107}})
    books.take(entry)
    assert undecided(pairs(SEEN, PLACES), books) == {ORDERS: {8: 108}, BILLS: {7: 207}}


def test_an_id_that_means_something_else_than_before_is_a_problem() -> None:
    books = IdBooks()
    assert [*conflicts(pairs(SEEN, PLACES), books)] == [], "each subject has its own"
    [entry] = registered(LINK, {ORDERS: {8: 999}})
    books.take(entry)
    [problem] = conflicts(pairs(SEEN, PLACES), books)
    assert isinstance(problem, Problem)
    assert problem.about == ORDERS
    assert "was id 999" in problem.text


def test_ids_of_several_contexts_are_told_once() -> None:
    other = SubjectName(":.eu:orders-value")
    found = {ORDERS: {7: 107, 8: 108, 9: 109}, other: {7: 7, 8: 8}}
    [note] = conflicts(found, IdBooks())  # type: ignore[arg-type]
    assert isinstance(note, Note)
    assert note.text.startswith("2 ids of the source mean other schemas in the contexts ., .eu")


@pytest.mark.parametrize(
    ("id_", "scope", "code"),
    [
        (5, TOPIC, ReasonCode.SCHEMA_ID_ABSENT),
        (9, TOPIC, ReasonCode.SCHEMA_ID_ELSEWHERE),
        (9, (SubjectStrategy.TOPIC, "away", "value"), ReasonCode.SCHEMA_ID_LEFT_OUT),
        (9, (SubjectStrategy.RECORD, "any", "key"), ReasonCode.SCHEMA_ID_LEFT_OUT),
        (7, TOPIC, ReasonCode.SCHEMA_ID_NOT_REGISTERED),
    ],
)
def test_why_an_id_is_unknown(
    id_: int, scope: tuple[SubjectStrategy, str, str], code: ReasonCode
) -> None:
    why = why_unknown(SEEN, {str(ORDERS): "the target refuses it"}, scope, id_)
    assert why.code is code
    assert ("the target refuses it" in str(why)) is (code is ReasonCode.SCHEMA_ID_NOT_REGISTERED)


def test_what_a_registry_did_not_answer_says_nothing_about_ids() -> None:
    """Reads may be answered while writes are not, and all subjects but one."""
    silent = UnreachableError(Side.TARGET, "the schema registry", "HTTP 503: no leader")
    why = why_unknown(SEEN, {str(ORDERS): silent}, TOPIC, 7)
    assert why.code is ReasonCode.SCHEMAS_UNSEEN
    assert "no leader" in str(why)
    refused = RegistryRefusedError("source", "read it", 422, 42201, "no")
    for error, code in ((silent, "SCHEMAS_UNSEEN"), (refused, "SCHEMA_ID_ABSENT")):
        found = replace(SEEN, failed={ORDERS: error})
        assert why_unknown(found, {}, TOPIC, 5).code == code
        other = (SubjectStrategy.TOPIC, "payments", "value")
        assert why_unknown(found, {}, other, 5).code == "SCHEMA_ID_ABSENT", "of another topic"


def test_a_schema_that_nothing_keeps_back_is_about_to_be_there() -> None:
    """A registry may show only after some seconds what it has registered."""
    why = why_unknown(SEEN, {}, TOPIC, 7)
    assert why.code is ReasonCode.SCHEMAS_UNSEEN
    assert "does not show the schema of orders-value yet" in str(why)


def test_registries_that_are_away_say_nothing_about_ids() -> None:
    trouble = UnreachableError(Side.SOURCE, "the schema registry", "no answer")
    why = why_unknown(ObservedSchemas(trouble=trouble), {}, TOPIC, 7)
    assert why.code is ReasonCode.SCHEMAS_UNSEEN
    assert "no answer" in str(why)
