"""Asking about many things: in order, some ahead, each with its own error; and registries away."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from towpath.model.errors import RegistryRefusedError
from towpath.registry import asking, away
from towpath.registry.asking import answers
from towpath.registry.away import Away


def test_each_thing_has_its_answer_or_its_error_in_order() -> None:
    def ask(number: int) -> int:
        if number % 3 == 0:
            raise RegistryRefusedError("source", f"read {number}", 422, 42201, "no")
        return number * 2

    with ThreadPoolExecutor(4) as pool:
        found = list(answers(pool, range(1000), ask))
    assert [thing for thing, _ in found] == list(range(1000))
    for thing, answer in found:
        if thing % 3:
            assert answer == thing * 2
        else:
            assert isinstance(answer, RegistryRefusedError)


def test_no_more_answers_wait_than_are_needed() -> None:
    asked, gate = [], threading.Event()

    def ask(number: int) -> int:
        gate.wait(30)
        asked.append(number)
        return number

    with ThreadPoolExecutor(4) as pool:
        found = answers(pool, range(100_000), ask)
        gate.set()
        assert next(found)[0] == 0
        found.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(asked) <= asking._AHEAD


def test_a_registry_is_away_after_many_calls_without_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    registry = Away(3)
    for _ in range(2):
        registry.silent("no answer in time")
        assert not registry
        assert not registry.refuses()
    registry.heard()
    for _ in range(3):
        registry.silent("no answer in time")
    assert registry
    assert registry.refuses() == "no answer in time"
    now += away._PROBE
    assert [bool(registry.refuses()) for _ in range(3)] == [False, True, True], "one tries again"
    registry.heard()
    assert not registry.refuses()
