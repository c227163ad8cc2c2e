"""Which schema ids keep a cutover from its end. Pure."""

from __future__ import annotations

from towpath.mirror.cutover.proof import unproven
from towpath.mirror.verify.schema_proof import IdAnswer, IdVerdict, SchemaProof
from towpath.model.nouns import TopicName
from towpath.wire.naming import Part


def answer(number: int, verdict: IdVerdict, why: str = "") -> IdAnswer:
    return IdAnswer(
        topic=TopicName("orders"), target_topic=TopicName("eu.orders"), part=Part.VALUE,
        id=number, source_ids=(number,), verdict=verdict, why=why, records=1, partition=2,
        offset=30,
    )  # fmt: skip


def proof(*ids: IdAnswer, holes: tuple[str, ...] = ()) -> SchemaProof:
    return SchemaProof(ids=ids, records=10, holes=holes, notes=(), requests=4)


def test_ids_that_readers_on_the_target_fare_with_as_at_the_source_are_no_trouble() -> None:
    fine = (IdVerdict.EQUAL, IdVerdict.LOST, IdVerdict.NO_ID, IdVerdict.GIVEN)
    assert list(unproven(proof(*(answer(7, each) for each in fine)))) == []


def test_each_other_id_is_named_with_its_place_and_how_to_go_on() -> None:
    missing = answer(7, IdVerdict.MISSING, "the target has no such id")
    assert list(unproven(proof(missing, holes=("eu.orders-0: 3 records are damaged",)))) == [
        "orders: schema id 7 of the value in 1 record, the first at eu.orders-2, offset 30: the"
        " target has no such id; to cut over all the same, add --without-schemas",
        "schema ids were not looked at: eu.orders-0: 3 records are damaged; to cut over all the"
        " same, add --without-schemas",
    ]


def test_of_many_ids_the_first_ones_are_named() -> None:
    told = list(unproven(proof(*(answer(n, IdVerdict.UNKNOWN, "no answer") for n in range(25)))))
    assert len(told) == 21
    assert told[-1].startswith("5 schema ids more, in the report;")
