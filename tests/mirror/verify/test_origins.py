"""Which ids the source's records had, and what is said of ids that were rewritten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from tests.support.registries.registry import LocalRegistry, record
from towpath.compare.named import SeenIds
from towpath.ledger.books.ids import IdBooks
from towpath.ledger.entries import DecidedIds
from towpath.mirror.verify.origins import IdOrigin, IdOrigins
from towpath.mirror.verify.schema_proof import IdVerdict
from towpath.mirror.verify.schemas import Prover
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.changes import Framing, IdChange, RecordChange, SubjectStrategy
from towpath.model.nouns import LinkName, Side, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.registry.registry import Registry
from towpath.schemas.answers import RecordId, SchemaAnswers
from towpath.settings import RegistryConfig
from towpath.wire.naming import MOST, NamedId, NamedIds, Part

ORDERS, GUIDS = TopicName("orders"), [str(UUID(int=number)) for number in (1, 2)]
IDS = RecordChange(ids=IdChange(key=None))
RECORD = RecordChange(ids=IdChange(value=SubjectStrategy.RECORD))
GLUE = RecordChange(ids=IdChange(framing=Framing.FROM_GLUE))
CHANGES = {each.digest: each for each in (IDS, RECORD, GLUE)}


def origins() -> IdOrigins:
    books = IdBooks()
    books.take(
        DecidedIds(
            link=LinkName("l"),
            name="n",
            at=0,
            subjects={
                "orders-value": ((1, 11), (2, 11), (3, 3), (GUIDS[0], GUIDS[1])),
                "other-value": ((5, 12),),
            },
            values={ORDERS: ((4, None), (6, 6))},
        )
    )
    return IdOrigins(CHANGES, books)


@pytest.mark.parametrize(
    ("name", "change", "ids", "foreign"),
    [
        (11, IDS, (1, 2), False),
        (3, IDS, (3,), False),
        (6, IDS, (6,), False),
        (4, IDS, (4,), True),
        (12, IDS, (12,), False),  # nothing is decided, so it stayed
        (12, RECORD, (5,), False),
        (GUIDS[1], IDS, (GUIDS[0],), False),
        (11, None, (11,), False),
    ],
)
def test_ids_on_the_target_come_from_ids_at_the_source(
    name: RecordId, change: RecordChange | None, ids: tuple[RecordId, ...], foreign: bool
) -> None:
    digest = change.digest if change is not None else ""
    assert origins().of(ORDERS, Part.VALUE, name, digest) == IdOrigin(ids, foreign)
    if change is IDS:
        assert origins().of(ORDERS, Part.KEY, name, digest) == IdOrigin((name,))


def row(*named: NamedId, more: int = 0, glue: int = 0, **facts: Any) -> PartitionVerdict:
    """Return what was found in a partition whose records name these ids."""
    ids = SeenIds(NamedIds(named, 100, more_values=more, glue=glue))
    told: dict[str, Any] = {"topic": ORDERS, "verdict": Verdict.EQUAL, "why": "", "ids": ids}
    return PartitionVerdict(
        partition=3, target_topic=TopicName("eu.orders"), mode="identical", behind=0,
        comparison=None, late=False, **(told | facts),
    )  # fmt: skip


@pytest.mark.soak
def test_ids_are_asked_for_in_the_context_of_the_topics_subject(
    new_registry: Callable[..., LocalRegistry],
) -> None:
    ours, theirs = new_registry(), new_registry()
    for registry, context in ((ours, ".eu"), (theirs, ".us")):
        registry.register("orders-key", record("Key", "x"))
        registry.register(f":{context}:orders-value", record("Order", "x"))
    theirs.register(":.us:more-value", record("More", "x"))
    sides = [
        Registry(RegistryConfig.model_validate({"url": each.url}), side, 2)
        for side, each in zip((Side.SOURCE, Side.TARGET), (ours, theirs), strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        subjects = sides[0].subjects(sides[0].contexts() or ())
        answers = SchemaAnswers(sides[0], sides[1], pool)
        places = {".": ".", ".eu": ".us"}
        ids = row(
            NamedId(Part.KEY, 1, 1, 0), NamedId(Part.VALUE, 1, 1, 0), NamedId(Part.VALUE, 2, 1, 0)
        )
        proof = Prover(answers, subjects, IdOrigins, places.get).prove([ids])
        verdicts = [(each.part, each.id, each.verdict) for each in proof.ids]
        assert verdicts == [
            (Part.KEY, 1, IdVerdict.EQUAL),
            (Part.VALUE, 1, IdVerdict.EQUAL),
            (Part.VALUE, 2, IdVerdict.DIFFERENT),
        ]
        # Where the context is not brought over, neither are its ids.
        proof = Prover(answers, subjects, IdOrigins, {".": "."}.get).prove([ids])
        assert [each.verdict for each in proof.ids] == ["equal", "missing", "lost"]
    for each in sides:
        each.close()


@pytest.mark.soak
def test_what_registries_say_of_rewritten_ids(
    new_registry: Callable[..., LocalRegistry],
) -> None:
    ours, theirs = new_registry(), new_registry()
    theirs.register("first", record("First", "x"))
    for registry in (ours, theirs):
        registry.register("orders-value", record("Order", "x"))
    assert ours.version("orders-value")["id"] == 1
    assert theirs.version("orders-value")["id"] == 2
    book = IdBooks()
    subjects = {"orders-value": ((1, 2), (7, 70))}
    book.take(DecidedIds(link=LinkName("l"), name="n", at=0, subjects=subjects))
    sides = [
        Registry(RegistryConfig.model_validate({"url": each.url, "timeout": "1s"}), side, 2)
        for side, each in zip((Side.SOURCE, Side.TARGET), (ours, theirs), strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        answers = SchemaAnswers(sides[0], sides[1], pool)
        prover = Prover(answers, sides[0].subjects(), lambda: IdOrigins(CHANGES, book))

        def said(number: int, change: RecordChange | None) -> tuple[IdVerdict, str]:
            digest = change.digest if change is not None else ""
            proof = prover.prove([row(NamedId(Part.VALUE, number, 5, 17, digest))])
            [found] = proof.ids
            assert proof.equal is (found.verdict in {"equal", "given", "lost", "no id"})
            assert (found.partition, found.offset, found.records) == (3, 17, 5)
            return found.verdict, found.why

        assert said(2, IDS) == (IdVerdict.EQUAL, "")
        assert said(1, None)[0] is IdVerdict.DIFFERENT
        assert said(2, None)[1] == "the source has no such id, but the target has"
        assert said(70, IDS)[0] is IdVerdict.LOST
        assert said(2, GLUE)[0] is IdVerdict.GIVEN
        assert said(99, GLUE)[0] is IdVerdict.MISSING

        # More ids than a topic can have: a hole where there is a subject, else random bytes.
        proof = prover.prove([row(more=5)])
        assert (proof.equal, len(proof.holes)) == (False, 1)
        assert f"{MOST:,} different ones" in proof.holes[0]
        other = row(NamedId(Part.VALUE, 1, 1, 0), more=5, glue=2, topic=TopicName("bytes"))
        proof = prover.prove([other])
        assert (proof.equal, proof.ids) == (True, ())
        assert len(proof.notes) == 2
        proof = prover.prove([row(verdict=Verdict.LEFT_OUT, why="never copied", ids=None)])
        assert proof.holes == ("eu.orders-3: no record was looked at: never copied",)
        assert not proof.equal

        theirs.stop()
        assert said(1234, None)[0] is IdVerdict.UNKNOWN
    for each in sides:
        each.close()


def test_ids_that_passed_unchanged_are_compared_all_the_same(
    new_registry: Callable[..., LocalRegistry],
) -> None:
    """Producers name subjects by the record, and the file does not say so."""
    ours, theirs = new_registry(), new_registry()
    theirs.register("theirs", record("Theirs", "weight"))
    for registry in (ours, theirs):
        registry.register("orders-value", record("Order", "x"))
    ours.register("shop.Same", record("Same", "price"))
    theirs.register("shop.Same", record("Other", "price"))
    ours.register("shop.Far", record("Far", "price"))
    both = record("Both", "price")
    assert ours.register("shop.Both", both) == theirs.register("shop.Both", both) == 4
    book = IdBooks()
    why = Reason.of(ReasonCode.SCHEMA_ID_ELSEWHERE, subject="shop.Same", strategy="topic")
    foreign = {ORDERS: ((2, None), (4, None), (77, None))}
    subjects = {"orders-value": ((1, 2),)}
    book.take(DecidedIds(link=LinkName("l"), name="n", at=0, subjects=subjects))
    book.take(DecidedIds(link=LinkName("l"), name="m", at=0, values=foreign, why=why))
    sides = [
        Registry(RegistryConfig.model_validate({"url": each.url}), side, 2)
        for side, each in zip((Side.SOURCE, Side.TARGET), (ours, theirs), strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        answers = SchemaAnswers(sides[0], sides[1], pool)
        prover = Prover(answers, sides[0].subjects(), lambda: IdOrigins(CHANGES, book))
        ids = (NamedId(Part.VALUE, number, 1, 0, IDS.digest) for number in (2, 4, 77))
        proof = prover.prove([row(*ids)])
        # Some records with id 2 had 1 at the source, and others had 2 there, which is shop.Same.
        assert {each.id: (each.source_ids, each.verdict) for each in proof.ids} == {
            2: ((1, 2), IdVerdict.DIFFERENT),
            4: ((4,), IdVerdict.EQUAL),
            77: ((77,), IdVerdict.NO_ID),
        }
        assert not proof.equal
        [wrong, *_] = proof.ids
        assert "at the source, id 2 is shop.Same version 1" in wrong.why
        assert "if it is an id, set `changes.ids.value: record` and copy the topic" in wrong.why
    for each in sides:
        each.close()


def test_parts_without_schemas_by_the_file_have_no_ids_unless_there_is_a_subject(
    new_registry: Callable[..., LocalRegistry],
) -> None:
    """Keys that are long integers begin as ids do."""
    ours = new_registry()
    ours.register("orders-value", record("Order", "x"))
    sides = [
        Registry(RegistryConfig.model_validate({"url": ours.url, "timeout": "9s"}), side, 2)
        for side in (Side.SOURCE, Side.TARGET)
    ]
    with ThreadPoolExecutor(2) as pool:
        answers = SchemaAnswers(sides[0], sides[1], pool)
        without = lambda topic, _part: topic == ORDERS  # noqa: E731
        prover = Prover(answers, sides[0].subjects(), IdOrigins, without=without)
        named = [NamedId(part, 1, 5, 17) for part in (Part.KEY, Part.VALUE)]
        proof = prover.prove([row(*named), row(*named, topic=TopicName("other"))])
        assert [(each.part, each.verdict) for each in proof.ids] == [
            (Part.KEY, IdVerdict.NO_ID),
            (Part.VALUE, IdVerdict.EQUAL),
            (Part.KEY, IdVerdict.EQUAL),
            (Part.VALUE, IdVerdict.EQUAL),
        ]
        assert proof.ids[0].why == (
            "the file says that keys of orders have no schemas, and the source has no subject"
            " orders-key"
        )
    for each in sides:
        each.close()
