"""A connection to a broker ends when nothing that writes is on its way any more."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from tests.support.clients.wires import Wire, receive
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.gateway_lease import DOUBT
from towpath.gateway.promotion.undo_errors import late_answers
from towpath.gateway.write_drains import WriteDrains


class Sender:
    """A client's connection; `slow` is what it waits for."""

    def __init__(self, name: tuple[str, str] = ("", "")) -> None:
        self.slow, self.name = set[object](), name

    def hold(self, slow: object) -> None:
        self.slow.add(slow)

    def release(self, slow: object) -> None:
        self.slow.discard(slow)

    def lost(self, leg: BrokerConnection, why: str) -> None:
        del leg, why

    def pass_on(self, pieces: Iterable[memoryview | bytes], *, last: bool) -> bool:
        raise NotImplementedError

    def flush(self) -> None:
        pass


def answer(correlation: int) -> bytes:
    return struct.pack(">ii", 4, correlation)


def test_what_a_client_wrote_before_it_left_reaches_the_broker() -> None:
    drains, wire = WriteDrains(lambda: 0.0), Wire()
    leg = BrokerConnection(Sender(), drains)
    leg.send(b"records", 1, lambda _: None, writes=True)
    leg.leave()
    marks = drains.marks()
    leg.connection_made(wire)
    assert wire.written == b"records"
    assert not wire.is_over
    assert not drains.drained(marks)
    receive(leg, answer(1))
    assert wire.is_over
    assert drains.drained(marks)


def test_a_connection_that_breaks_with_records_on_it_leaves_a_doubt() -> None:
    now = 100.0
    drains = WriteDrains(lambda: now)
    answers: list[object] = []
    leg = BrokerConnection(Sender(), drains)
    leg.send(b"records", 1, answers.append, writes=True)
    leg.connection_made(Wire())
    leg.connection_lost(None)
    assert answers == [None]
    assert not drains.drained({})
    now += DOUBT
    assert drains.drained({})


def test_a_connection_that_never_stood_leaves_none() -> None:
    drains = WriteDrains(lambda: 100.0)
    leg = BrokerConnection(Sender(), drains)
    leg.send(b"records", 1, lambda _: None, writes=True)
    leg.failed("it is away")
    assert drains.drained({})


def test_a_client_does_not_wait_for_a_connection_that_broke() -> None:
    """It may have others, to the other cluster, and goes on with them."""
    sender = Sender()
    leg = BrokerConnection(sender, WriteDrains(lambda: 100.0))
    leg.connection_made(Wire())
    leg.pause_writing()
    assert sender.slow == {leg}
    leg.connection_lost(None)
    assert sender.slow == set()


def test_who_holds_up_a_promotion_is_named() -> None:
    drains = WriteDrains(lambda: 0.0)
    legs = {
        name: BrokerConnection(Sender(("10.0.0.7", name)), drains)
        for name in ("billing", "shipping")
    }
    for name, number in (("billing", 1), ("shipping", 3), ("billing", 2), ("shipping", 4)):
        legs[name].send(b"records", number, lambda _: None, writes=True)
    marks = drains.marks()
    legs["billing"].send(b"records", 5, lambda _: None, writes=True)
    for leg in legs.values():
        leg.connection_made(Wire())
    receive(legs["shipping"], answer(3))
    assert drains.slowest(marks) == (
        "2 requests of client id 'billing' on 10.0.0.7, and 1 other connection"
    ), "what came later is not waited for"
    for number in (1, 2):
        receive(legs["billing"], answer(number))
    assert drains.slowest(marks) == "1 request of client id 'shipping' on 10.0.0.7"
    late = str(late_answers(2.0, drains.slowest(marks)).why)
    assert "not answered: 1 request of client id 'shipping' on 10.0.0.7" in late
    receive(legs["shipping"], answer(4))
    assert drains.slowest(marks) == ""
