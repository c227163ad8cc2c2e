"""A run that begins while a cluster is down goes on by itself once the cluster answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.network.gate import Gate
from towpath.dev.broker import LocalCluster
from towpath.mirror.run import waiting

pytestmark = pytest.mark.spark


class Pauses:
    """Does something as soon as a run waits, and lets it wait for a moment only."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def after(self, _failures: int) -> float:
        self._act()
        return 0.1


def written(folder: Path, source: str, target: str, name: str, timeout: str = "1s") -> str:
    file = folder / f"{name}.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source}', request_timeout: {timeout}}}\n"
        f"target: {{bootstrap: '{target}', request_timeout: {timeout}}}\n"
        f"link: {name}\ntopics: {{include: ['{name}']}}\nrecords: {{start: earliest}}\n"
    )
    return str(file)


@pytest.mark.broker
def test_a_run_waits_for_a_cluster_that_is_down_when_it_begins(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, gate = new_name("late"), Gate(source.bootstrap.split(",")[0])
    create_topic(source.bootstrap, name)
    produce(source.bootstrap, name, [Record(None, b"1")] * 10)
    monkeypatch.setattr(waiting, "_AGAIN", Pauses(gate.open))
    try:
        ended = here.run(
            written(tmp_path, gate.address, target.bootstrap, name, "10s"), "--until-caught-up"
        )
    finally:
        gate.close()
    assert ended.code == 0, ended.said
    assert "waiting for an answer since 20" in ended.err
    assert f"connecting to {gate.address}" in ended.err
    assert len(consume(target.bootstrap, name)) == 10


def test_a_run_that_waits_ends_on_a_signal(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_AGAIN", Pauses(lambda: os.kill(os.getpid(), signal.SIGTERM)))
    ended = here.run(written(tmp_path, "127.0.0.1:9", "127.0.0.1:19", "nowhere"))
    assert ended.code == 3, ended.said
    assert "stopped after" in ended.out
    assert "trouble: waiting for an answer since 20" in ended.out


def test_a_name_that_does_not_resolve_is_waited_for_and_told(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS may learn it later; a typing error wants a person, who is told what to correct."""
    monkeypatch.setattr(waiting, "_AGAIN", Pauses(lambda: os.kill(os.getpid(), signal.SIGTERM)))
    host = "no-such-host.invalid"
    ended = here.run(written(tmp_path, f"{host}:9", f"{host}:19,{host}:20", "misspelt"))
    assert ended.code == 3, ended.said
    said = " ".join(ended.said.split())
    assert "waiting for an answer since 20" in said
    assert (
        f"source: connecting to {host}:9: the name {host} does not resolve; correct it in"
        " `source.bootstrap` if it is misspelt, and start again; if DNS learns it later, a run that"
        " waits goes on by itself"
    ) in said
    assert f"no broker answered ({host}:19: the name {host} does not resolve; {host}:20:" in said
