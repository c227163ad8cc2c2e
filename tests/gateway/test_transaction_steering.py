"""Transactions go to the cluster of their transactional id, and begin on no other one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import google_crc32c
import pytest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TxnOffsetCommitResponse,
)

from tests.support.clients.promoted_routes import AT_SOURCE, LEADER, promoted
from tests.support.clients.steered import TargetClient, places, step
from tests.support.clients.transaction_requests import (
    MOVED,
    add,
    add_offsets,
    added,
    answered,
    commit_offsets,
    end,
    init,
    moved,
    own,
    produce,
    record,
    sent,
)
from towpath.cluster.metadata import ProducerState
from towpath.gateway.frames import FrameError
from towpath.gateway.promotion.transactional_cut import LeavingTransactional
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import TARGET, Routes
from towpath.gateway.transaction_routes import SeenTransactional, TransactionHold
from towpath.ledger.entries import NextSequence
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.wire.header import BatchHeader

NOT_COORDINATOR, OLD_EPOCH, INVALID_STATE = 16, 47, 48


def test_where_nothing_moved_transactions_pass_and_are_remembered() -> None:
    routes = Routes()
    for message in (init(), add("t"), add_offsets("g"), commit_offsets("g"), end()):
        assert places(step(routes, message, 3)) == [AT_SOURCE]
    seen = routes.transactions.seen()["app"]
    assert (seen.producers, seen.topics, seen.groups) == ({5}, {"t"}, {"g"})


def test_a_transactional_id_that_moved_has_its_coordinator_on_the_target() -> None:
    def found(name: str) -> Any:
        asked = FindCoordinatorRequest(key=name, key_type=1, coordinator_keys=[name])
        return places(step(moved(), asked, 4))

    assert found("app") == [TARGET]
    assert found("other")[0].cluster is AT_SOURCE.cluster


@pytest.mark.parametrize(
    ("message", "answer", "code_of"),
    [
        (init(), InitProducerIdResponse, lambda said: said.error_code),
        (
            add("moved"),
            AddPartitionsToTxnResponse,
            lambda said: (
                said.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        ),
        (add_offsets("g"), AddOffsetsToTxnResponse, lambda said: said.error_code),
        (
            commit_offsets("g"),
            TxnOffsetCommitResponse,
            lambda said: said.topics[0].partitions[0].error_code,
        ),
        (end(), EndTxnResponse, lambda said: said.error_code),
    ],
)
def test_a_client_is_sent_to_the_coordinator_where_its_id_is(
    message: Any, answer: Any, code_of: Any
) -> None:
    assert code_of(own(step(moved(), message, 3), answer)) == NOT_COORDINATOR
    back = promoted()
    back.groups.clear()  # nothing of it moved, and it turns to the target all the same
    found = step(back, message, 3, TargetClient())
    assert code_of(own(found, answer)) == NOT_COORDINATOR


def test_the_target_is_told_the_identity_that_it_gave() -> None:
    routes = moved()
    at = TargetClient()
    asked = sent(step(routes, add("moved"), 3, at), AddPartitionsToTxnRequest)
    assert (asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch) == (9, 1)
    for message in (add_offsets("g"), commit_offsets("g"), end()):
        asked = sent(step(routes, message, 3, at), type(message))
        assert (asked.producer_id, asked.producer_epoch) == (9, 1)
    asked = sent(step(routes, init(producer=5, epoch=3), 3, at), InitProducerIdRequest)
    assert (asked.producer_id, asked.producer_epoch) == (9, 1)
    asked = sent(step(routes, init(), 3, at), InitProducerIdRequest)
    assert (asked.producer_id, asked.producer_epoch) == (-1, -1), "it begins anew"


def test_what_the_target_gave_later_passes_as_it_is() -> None:
    for producer, epoch in ((9, 2), (5, 4)):
        asked = sent(
            step(moved(), add("moved", producer=producer, epoch=epoch), 3, TargetClient()),
            AddPartitionsToTxnRequest,
        )
        found = asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch
        assert found == (producer, epoch)


def test_a_producer_that_was_fenced_stays_fenced() -> None:
    routes, at = moved(), TargetClient()
    asked = sent(step(routes, add("moved", epoch=2), 3, at), AddPartitionsToTxnRequest)
    found = asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch
    assert found == (9, 0), "an epoch that the target has replaced"
    said = own(step(routes, commit_offsets("g", epoch=2), 3, at), TxnOffsetCommitResponse)
    assert said.topics[0].partitions[0].error_code == OLD_EPOCH
    said = own(step(routes, produce("moved", epoch=2), 9), ProduceResponse, 9)
    assert said.responses[0].partition_responses[0].error_code == OLD_EPOCH


def test_records_of_a_transaction_go_where_its_id_is() -> None:
    assert places(step(moved(), produce("moved"), 9)) == [LEADER]
    assert places(step(moved(), produce("moved"), 9, TargetClient())) == [LEADER]
    assert places(step(moved(), produce("other", "stays"), 9)) == [AT_SOURCE]


def test_a_batch_has_the_identity_that_the_target_gave() -> None:
    asked = produce("moved")
    data = asked.topic_data[0].partition_data[0]
    data.records = plain_of(bytes(data.records))
    found = sent(step(moved(), asked, 9), ProduceRequest, 9)
    header = BatchHeader.read(memoryview(bytes(found.topic_data[0].partition_data[0].records)))
    assert (header.producer_id, header.producer_epoch) == (9, 1)
    assert header.base_sequence == 40


def plain_of(records: bytes) -> bytes:
    """Return a batch whose checksum is right."""
    made = bytearray(records)
    made[17:21] = google_crc32c.value(bytes(made[21:])).to_bytes(4, "big")
    return bytes(made)


def test_no_transaction_is_of_two_clusters() -> None:
    for asked, kind in (
        (partial(add, "other"), AddPartitionsToTxnResponse),
        (partial(add_offsets, "h"), AddOffsetsToTxnResponse),
    ):
        routes = moved()
        assert step(routes, asked(), 3, TargetClient()) is None, "it is looked where it belongs"
        (wanted,) = routes.transactions.unplaced.wanted.values()
        assert not wanted.movable
        routes.transactions.unplaced.refuses("app")
        told = told_by(step(routes, asked(), 3, TargetClient()), kind)
        of = [each for topic in getattr(told, "results_by_topic_v3_and_below", ())
              for each in topic.results_by_partition]  # fmt: skip
        codes = {each.partition_error_code for each in of} or {told.error_code}
        assert codes == {44}, "applications hear of it, and may abort"

        def aborted(routes: Routes = routes) -> Any:
            told = EndTxnResponse(throttle_time_ms=0, error_code=INVALID_STATE)
            ends = step(routes, end(committed=False, epoch=4), 3, TargetClient())
            return answered(ends, told).error_code

        assert [aborted(), aborted()] == [0, 0], "nothing has begun, asked twice or not"
        assert step(routes, add("moved", producer=8, epoch=0), 3, TargetClient()) is not None
        assert aborted() == INVALID_STATE, "that one has begun"
    with pytest.raises(FrameError, match="promoted without it"):
        step(moved(), commit_offsets("g", "stays"), 3, TargetClient())
    with pytest.raises(FrameError, match="topic moved, which was promoted without it"):
        step(moved(), produce("moved", "stays"), 9)
    with pytest.raises(FrameError, match="topic other, which is not promoted"):
        step(moved(), produce("other"), 9, TargetClient())


def told_by(found: RequestStep | None, kind: Any) -> Any:
    """Return the gateway's own answer."""
    assert found is not None
    assert found.own is not None
    return kind.decode(memoryview(found.own)[4:], version=3, header=True)


@pytest.mark.parametrize("message", [add("moved", "new"), add_offsets("g", "new")])
def test_an_id_that_begins_with_what_is_promoted_waits_and_then_looks_there(message: Any) -> None:
    routes = moved()
    assert step(routes, message, 3) is None
    (wanted,) = routes.transactions.unplaced.wanted.values()
    assert (wanted.producer, wanted.epoch, wanted.movable) == (5, 3, True)
    routes.transactions.move(record(replace(MOVED, id="new")))
    assert not routes.transactions.unplaced.wanted
    found = step(routes, message, 3)
    assert found is not None
    assert found.own is not None, "its coordinator is elsewhere now"
    assert places(step(routes, message, 3, TargetClient())) == [LEADER]


def test_an_id_that_the_target_may_not_know_is_asked_about_once() -> None:
    routes = promoted()
    routes.transactions.is_whole = True
    assert step(routes, add("moved", "old"), 3, TargetClient()) is None
    routes.transactions.unplaced.settles("old")
    assert places(step(routes, add("moved", "old"), 3, TargetClient())) == [LEADER]
    begun = step(routes, init("new"), 3, TargetClient())
    answer = InitProducerIdResponse(
        throttle_time_ms=0, error_code=0, producer_id=8, producer_epoch=0
    )
    answered(begun, answer)
    assert places(step(routes, add("moved", "new", 8, 0), 3, TargetClient())) == [LEADER]


def test_the_end_of_a_transaction_whose_answer_was_lost_is_told_again() -> None:
    def code(message: Any, said: int) -> Any:
        answer = EndTxnResponse(throttle_time_ms=0, error_code=said)
        return answered(step(moved(), message, 3, TargetClient()), answer).error_code

    assert code(end(), INVALID_STATE) == 0, "the source has committed it"
    assert code(end(committed=False), INVALID_STATE) == INVALID_STATE
    assert code(end(epoch=2), INVALID_STATE) == INVALID_STATE
    assert code(end(), OLD_EPOCH) == OLD_EPOCH


def test_new_ids_begin_on_the_target_once_all_is_promoted() -> None:
    routes = promoted()
    routes.transactions.is_whole, routes.transactions.stay = True, frozenset({"stays"})
    assert places(step(routes, init("new"), 3, TargetClient())) == [LEADER]
    assert places(step(routes, init("stays"), 3)) == [AT_SOURCE]


# There and back


def next_at(partition: int, sequence: int) -> NextSequence:
    return NextSequence(topic=TopicName("moved"), partition=partition, sequence=sequence)


def test_a_client_that_got_no_new_epoch_goes_back_with_what_it_holds() -> None:
    ids = moved().transactions
    assert ids.held("app", 9, 1) == (5, 3), "it holds what the source gave it"
    assert ids.held("app", 9, 2) == (9, 2), "or what the target gave it since"
    back = replace(MOVED, there_id=5, there_epoch=4, sequences=(next_at(0, 40), next_at(2, 7)))
    ids.move(record(back, back=True))
    assert not ids.is_moved("app")
    assert ids.identity("app", 5, 3) == (5, 4)
    assert ids.sequence("app", ("moved", 0), 5, 3, 40) == 0
    assert ids.sequence("app", ("moved", 1), 5, 3, 40) == 40, "it never wrote there"
    assert ids.sequence("app", ("moved", 2), 5, 3, 6) == (1 << 31) - 1, "repeats stay before it"
    assert ids.sequence("app", ("moved", 0), 5, 4, 40) == 40, "a new epoch counts anew"
    assert ids.is_fenced("app", 5, 2)
    again = replace(back, there_id=9, there_epoch=2, sequences=(next_at(0, 50),))
    ids.move(record(again))
    assert ids.is_moved("app")
    assert ids.identity("app", 5, 3) == (9, 2)
    assert ids.begun("app") == {("moved", 0): 50}


def test_where_some_topics_go_back_other_ids_stay() -> None:
    ids = moved().transactions
    ids.is_whole = True
    assert ids.is_moved("new")
    ids.move(record(MOVED, back=True, staying=("new",)))
    ids.is_whole = False
    assert (ids.is_moved("new"), ids.is_moved("app"), ids.is_moved("later")) == (True, False, False)


def test_records_of_a_moved_client_get_sequences_from_0_on() -> None:
    routes = promoted()
    routes.transactions.move(record(replace(MOVED, sequences=(next_at(0, 38),))))
    asked = produce("moved")
    data = asked.topic_data[0].partition_data[0]
    data.records = plain_of(bytes(data.records))
    found = sent(step(routes, asked, 9), ProduceRequest, 9)
    header = BatchHeader.read(memoryview(bytes(found.topic_data[0].partition_data[0].records)))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 2)


def test_only_ids_of_the_cluster_that_is_left_are_held() -> None:
    routes = moved()
    hold = TransactionHold(frozenset({"moved"}), frozenset({"g"}), {"app"}, back=True)
    routes.transactions.hold = hold
    assert step(routes, add("moved"), 3, TargetClient()) is None
    assert not routes.transactions.is_sealed("app")
    hold.sealed = True
    assert routes.transactions.is_sealed("app")
    assert not routes.transactions.is_sealed("of the source")
    assert not routes.transactions.holds("of the source", {"moved"})


@pytest.mark.parametrize(
    ("states", "begun", "wanted"),
    [
        ([(0, 9, 1, 11)], {}, {0: 12}),
        ([(0, 9, 1, 11)], {("moved", 0): 30, ("moved", 1): 5}, {0: 42, 1: 5}),
        ([(0, 9, 0, 11), (1, 8, 1, 11), (2, 9, 1, -1)], {}, {}),
        ([(0, 9, 1, (1 << 31) - 2)], {("moved", 0): 3}, {0: 2}),
    ],
)
def test_sequences_go_on_behind_those_of_the_cluster_that_is_left(
    states: list[tuple[int, int, int, int]],
    begun: dict[tuple[str, int], int],
    wanted: dict[int, int],
) -> None:
    leaving = LeavingTransactional(MOVED, ProducerId(9), 1, begun)
    found = {
        TopicPartition(TopicName("moved"), part): (
            ProducerState(ProducerId(number), last, 0, -1, epoch),
        )
        for part, number, epoch, last in states
    }
    assert {each.partition: each.sequence for each in leaving.moved(found).sequences} == wanted


# While something moves


def held(*ids: str) -> Routes:
    routes = Routes()
    hold = TransactionHold(frozenset({"t"}), frozenset({"g"}), {*ids})
    routes.transactions.hold = hold
    return routes


def test_transactions_do_not_begin_while_what_they_write_moves() -> None:
    routes = held("app")
    for message in (add("t", "new"), add_offsets("g", "new"), commit_offsets("g", "late")):
        assert step(routes, message, 3) is None
    for message in (add("else"), add_offsets("else")):
        assert step(routes, message, 3) is None, "all of an id that moves waits"
    for message in (add("else", "new"), add_offsets("h", "new"), commit_offsets("h", "new")):
        assert places(step(routes, message, 3)) == [AT_SOURCE]
    hold = routes.transactions.hold
    assert hold is not None
    assert hold.late == {"new", "late"}
    assert places(step(routes, init(), 3)) == [AT_SOURCE]


def began(routes: Routes, name: str, producer: int = 7) -> None:
    made = InitProducerIdResponse(
        throttle_time_ms=0, error_code=0, producer_id=producer, producer_epoch=0
    )
    answered(step(routes, init(name), 3), made)


def test_who_has_written_nothing_yet_goes_along_where_all_topics_move() -> None:
    routes = Routes()
    began(routes, "early")
    began(routes, "apart")
    began(routes, "writes")
    step(routes, add("else", "writes"), 3)
    ids = routes.transactions
    ids.hold = TransactionHold(frozenset({"t"}), frozenset(), {"app"}, stay={"apart"})
    assert ids.late() == {"early"}
    began(routes, "new")
    assert ids.late() == {"early", "new"}
    assert places(step(routes, add("else", "new"), 3)) == [AT_SOURCE], "it may still begin"
    assert ids.late() == {"early"}
    ids.hold.sealed = True
    assert step(routes, add("else", "early"), 3) is None
    assert places(step(routes, add("else", "writes"), 3)) == [AT_SOURCE]
    ids.hold.stay = None
    assert ids.late() == set(), "where some topics stay, it may write to these"


def test_what_is_open_goes_on_to_its_end_until_all_is_sealed() -> None:
    routes = Routes()
    found = step(routes, add("t"), 3)
    answered(found, added())
    routes.transactions.hold = held("app").transactions.hold
    for message in (add("t"), add_offsets("g"), commit_offsets("g")):
        assert places(step(routes, message, 3)) == [AT_SOURCE]
    answered(step(routes, end(), 3), EndTxnResponse(throttle_time_ms=0, error_code=0))
    assert step(routes, add("t"), 3) is None, "the next one waits"
    routes.transactions.opened(["app", "other"])
    assert step(routes, add("t"), 3) is None, "what was heard of since is not older news"
    assert places(step(routes, add("t", "other"), 3)) == [AT_SOURCE]
    hold = routes.transactions.hold
    assert hold is not None
    hold.sealed = True
    assert step(routes, add("t", "other"), 3) is None
    assert step(routes, init("anybody"), 3) is None
    assert places(step(routes, end(), 3)) == [AT_SOURCE]


def test_a_transaction_that_did_not_begin_is_not_open() -> None:
    routes = Routes()
    answered(step(routes, add("t"), 3), added(51))
    assert not routes.transactions.seen()["app"].is_open
    answered(step(routes, add("t"), 3), added())
    answered(step(routes, add("t"), 3), added(51))
    assert routes.transactions.seen()["app"].is_open
    began = InitProducerIdResponse(
        throttle_time_ms=0, error_code=0, producer_id=5, producer_epoch=4
    )
    answered(step(routes, init(), 3), began)
    assert not routes.transactions.seen()["app"].is_open


def test_ids_that_were_heard_of_long_ago_are_forgotten() -> None:
    ids = replace(Routes().transactions, most=2)
    for name in ("a", "b", "a", "c"):
        ids.saw(name, 1)
    assert [*ids.seen()] == ["a", "c"]


def test_ids_are_noted_once_and_again_only_while_they_go_on() -> None:
    ids = Routes().transactions
    ids.learn({"learned": SeenTransactional({7}, {"t"})})
    ids.saw("a", 1, ["t"])
    ids.saw("b", 2)
    assert {*ids.unnoted()} == {"a", "b"}
    assert ids.unnoted() == {}
    ids.saw("a", 1)
    assert ids.unnoted() == {}, "that is nothing new"
    assert {*ids.unnoted(every=True)} == {"a", "b"}, "who was learned of is another gateway's"
    ids.saw("b", 2)
    assert {*ids.unnoted(every=True)} == {"b"}
    ids.note_again(["b"])
    assert {*ids.unnoted()} == {"b"}, "the ledger did not take it"


def test_a_copy_shares_nothing_that_changes() -> None:
    ids = replace(Routes().transactions, most=1)
    ids.saw("a", 1)
    copied = ids.copy()
    copied.saw("b", 2)
    assert {*ids.unnoted(every=True)} == {"a"}
