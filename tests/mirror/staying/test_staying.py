"""What stays at the source when the clients move: what is found, and how it is said."""

from __future__ import annotations

from towpath.mirror.staying.schema_ids import schema_id
from towpath.mirror.staying.staying import Staying
from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.wire.plain import Record

ORDERS, AUDIT = TopicName("orders"), TopicName("audit")


def test_records_that_begin_with_a_schema_id() -> None:
    seven, nine = (b"\0\0\0\0" + bytes([each]) + b"payload" for each in (7, 9))
    assert schema_id([Record(b"k", seven), Record(b"k", nine), Record(b"k", None)]) == 7
    assert schema_id([Record(nine, b"json")]) == 9, "keys may have schemas alone"


def test_other_records_have_no_schema_id() -> None:
    for value in (b"", b"\0", b"\0\0\0\0\7", b"{}", b"\1\0\0\0\7payload", b"\0\xff\0\0\0payload"):
        assert schema_id([Record(None, value)]) is None
    assert schema_id([Record(None, (5).to_bytes(8, "big"))]) is None, "a number in big endian"
    mixed = [Record(None, b"\0\0\0\0\7payload"), Record(None, b"text")]
    assert (schema_id(mixed), schema_id([])) == (None, None)


def test_groups_need_to_be_acknowledged_and_so_does_not_knowing() -> None:
    found = Staying(groups=("a", "b", "c", "d", "e"), unseen_groups="no right")
    assert found.of_groups == (
        "5 consumer groups with commits on mirrored topics (a, b, c and 2 more): the file has no"
        " section `groups`, so they would begin anew on the target; add `groups: {}` to bring them"
        " over (docs/what-moves.md)",
        "could not look for all consumer groups: no right",
    )
    assert (Staying().of_groups, Staying().notes) == ((), ())


def test_groups_of_a_link_with_a_query_may_go_on_at_the_end() -> None:
    found = Staying(groups=("a",), through_query=True)
    [text] = found.of_groups
    assert "add `groups: {}` to let those that have read everything go on where" in text
    assert Staying(groups=("a",), through_query=True, chosen=True).of_groups == ()


def test_groups_that_the_file_leaves_out_are_a_note() -> None:
    found = Staying(groups=("a",), chosen=True)
    assert found.of_groups == ()
    text = (
        "1 consumer group with commits on mirrored topics (a): `groups` in the file leaves them"
        " out, so they begin anew on the target (docs/what-moves.md)"
    )
    assert found.notes == (Note("groups", text),)
    unseen = Staying(unseen_groups="no right", chosen=True)
    assert unseen.of_groups == ("could not look for all consumer groups: no right",)


def test_what_a_promotion_moves_is_not_said_to_begin_anew_by_one() -> None:
    found = Staying(
        groups=("a",),
        share_groups=("s",),
        streams_groups=("k",),
        transactional=("t",),
        relayed=True,
    )
    consumers, shares, streams = found.of_groups
    [transactions] = found.notes
    moves = "(a): a promotion through the gateway moves them with their topics; without one, the"
    assert moves in consumers
    assert moves.replace("(a)", "(k)") in streams
    assert moves.replace("(a)", "(t)") in transactions.text
    assert "(s): the file has no section `groups`, so they would begin anew" in shares
    chosen = Staying(groups=("a",), chosen=True, relayed=True)
    assert "moves them with their topics; without one, `groups` in the" in chosen.notes[0].text


def test_everything_else_is_a_note() -> None:
    found = Staying(
        schemas={ORDERS: 7},
        transactional=("shop-1",),
        left_out={AUDIT: ("group g", "producer shop-1")},
        unknown=("for transactional ids: no right",),
    )
    assert found.of_groups == ()
    assert found.notes == (
        Note(
            "schemas",
            "records of 1 topic (orders) seem to begin with the id of a schema, such as 7 in"
            " orders; the schema registry does not move without `schemas` in the file: clients"
            " on the target need one that has these ids (docs/what-moves.md)",
        ),
        Note(
            "transactions",
            "1 transactional id of producers of mirrored topics (shop-1): the state of"
            " transactions does not move; their producers begin anew on the target"
            " (docs/what-moves.md)",
        ),
        Note(
            "audit",
            "the file leaves it out, but clients of mirrored topics use it (group g, producer"
            " shop-1); add it to `topics.include` if they need it on the target",
        ),
        Note("source", "could not look for transactional ids: no right"),
    )
