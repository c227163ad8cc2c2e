"""The reactor's pool."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event

from tests.support.kafka import wait_until
from towpath.cluster.data.reactor import THREADS, Reactor


def test_work_that_has_not_begun_is_dropped_when_it_closes() -> None:
    reactor, gate = Reactor(), Event()
    answers: list[Future[bool]] = []
    for _ in range(THREADS + 2):
        reactor.run(gate.wait, answers.append)
    reactor.close()
    gate.set()
    wait_until(lambda: len(answers) == THREADS, "the work under way has ended")
    assert [answer.result() for answer in answers] == [True] * THREADS
