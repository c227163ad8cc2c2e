"""Both clusters cannot be reached any more in the middle of a failover, a failback or a replay."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clients.groups import standing
from tests.support.copying.quarantine import begin
from tests.support.failback_victim import replay, turn_round
from tests.support.here import Here
from tests.support.kafka import Record, commit, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side

pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.timeout(600)]
TIMES, MOST = 5, 60
"""How often each command is cut off, and before which of its requests at the latest."""


def some(word: str, number: int) -> list[Record]:
    return [Record(b"k", b"%s %d" % (word.encode(), n), partition=0) for n in range(number)]


def said(word: str, number: int) -> list[bytes | None]:
    return [each.value for each in some(word, number)]


@contextmanager
def cut_off(request: int) -> Iterator[None]:
    """Let no request get through from the given one on."""
    sendall, seen = socket.socket.sendall, 0

    def counted(self: socket.socket, *data: object) -> None:
        nonlocal seen
        seen += 1
        if seen >= request:
            raise ConnectionResetError(104, "the network is gone")
        sendall(self, *data)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket.socket, "sendall", counted)
        yield


def until_done(rng: random.Random, work: Callable[[], bool]) -> int:
    """Cut some work off a few times, then let it end; return how often it was cut off."""
    ended = 0
    for _ in range(TIMES):
        try:
            with cut_off(rng.randint(1, MOST)):
                work()
        except TowpathError:
            ended += 1
    assert work()
    return ended


def test_each_is_refused_with_a_sentence_and_goes_on_where_it_stood(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    rng: random.Random,
    here: Here,
) -> None:
    mirror = Mirror(
        tmp_path, source, target, new_name("cut-off"), sections="groups: {}\n", timeout="3s"
    )
    mirror.create()
    topic, group = mirror.topic, f"{mirror.topic}-group"
    produce(source.bootstrap, topic, some("both", 20))
    commit(source.bootstrap, group, topic, 0, 12)
    begin(mirror)
    file = tmp_path / f"{topic}.yaml"
    assert here("groups", "sync", str(file)).code == 0
    produce(source.bootstrap, topic, some("tail", 4))
    for _ in range(TIMES):
        with cut_off(rng.randint(1, MOST)):
            ended = here("failover", str(file), "--yes")
        assert ended.code in {3, 4}, ended.said
        assert "Traceback" not in ended.said
    assert here("failover", str(file), "--yes").code == 3, "4 records are not mirrored"
    state = mirror.link_books().state_of()
    assert state is not None
    assert state.state == "failed_over"
    assert standing(target, group, topic) == (12, "")
    assert consume(target.bootstrap, topic) == consume(source.bootstrap, topic)[:20]

    produce(target.bootstrap, topic, some("new", 5))
    cut = until_done(rng, lambda: turn_round(file, Side.TARGET))
    cut += until_done(rng, lambda: replay(file))
    assert cut > 0
    salvaged = [each.value for each in consume(target.bootstrap, f"{topic}.salvage")]
    assert [each for each in salvaged if each is not None] == said("tail", 4)
    there = [each.value for each in consume(target.bootstrap, topic)]
    assert there == [*said("both", 20), *said("new", 5), *said("tail", 4)]
    here_now = [each.value for each in consume(source.bootstrap, topic)]
    assert here_now == [*said("both", 20), *said("tail", 4)], "the link back did not run yet"
