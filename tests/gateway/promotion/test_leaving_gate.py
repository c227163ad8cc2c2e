"""The log says that a gateway is unneeded once no client came for a while."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towpath.gateway.gateway_counts import LeavingCounts
from towpath.gateway.promotion.leaving_gate import _IDLE, LeavingGate
from towpath.runtime import log


class Clients:
    """Clients that may leave."""

    def __init__(self) -> None:
        self.leaving, self.is_open = 1, False

    def counts(self) -> LeavingCounts:
        return LeavingCounts(staying=0, leaving=self.leaving, left=7)


def resources(clients: Clients) -> Any:
    section = SimpleNamespace(after="leave")
    return SimpleNamespace(
        link=SimpleNamespace(name="l", config=SimpleNamespace(gateway=section), read=lambda: None),
        book=SimpleNamespace(left=1),
        gateway=SimpleNamespace(routes=SimpleNamespace(held=frozenset()), leaving=clients),
        is_whole=lambda: True,
        call=lambda what: what(),
    )


def test_a_gateway_is_unneeded_once_nobody_came_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said, now, clients = list[str](), [0.0], Clients()
    monkeypatch.setattr(log, "event", lambda what, *_, **__: said.append(what))
    gate = LeavingGate(resources(clients), lambda: now[0])

    def look(after: float, leaving: int) -> bool:
        now[0] += after
        clients.leaving = leaving
        gate.look()
        return "gateway.unneeded" in said

    assert not look(0, 1)
    assert not look(2, 0)
    assert not look(_IDLE - 1, 0)
    assert not look(0.5, 1), "one comes to be shown the addresses"
    assert not look(2, 0)
    assert not look(_IDLE - 1, 0)
    assert look(1, 0)
    assert look(_IDLE, 0)
    assert said.count("gateway.unneeded") == 1
