"""A run lives or not, whatever the clocks of its machine and of the gateway's say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.links import Link, a_run_elsewhere
from towpath.gateway.promotion import promotion_scope
from towpath.ledger import alive
from towpath.ledger.ledger import SESSIONS
from towpath.ledger.link import open_link
from towpath.plan.lease import last_signs
from towpath.runtime.clock import now_ms
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.soak]
HOUR = 3_600_000


@pytest.mark.parametrize("wrong", [-HOUR, 0, HOUR])
@pytest.mark.parametrize("lives", [True, False])
def test_a_run_lives_whose_clock_is_another(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: int,
    lives: bool,
) -> None:
    made = Link(tmp_path, source, target, new_name("clocks"), timeout="10s")
    with ExitStack() as stack:
        link = stack.enter_context(open_link(load(made.file)))
        link.prepare()
        with a_run_elsewhere(made.file):
            if lives:
                for module in (alive, promotion_scope):
                    monkeypatch.setattr(module, "now_ms", lambda: now_ms() + wrong)
                assert promotion_scope.runs(link)
                return
        [last] = [each for each in last_signs(link.ledger.another(), link.name)[:1] if each]
        killed = replace(last, over=False, host="another", beat=now_ms())
        link.ledger.append([killed], SESSIONS)  # nobody knows here that its process has ended
        for module in (alive, promotion_scope):
            monkeypatch.setattr(module, "now_ms", lambda: now_ms() + wrong)
        assert promotion_scope.runs(link) is (wrong == 0), "it may live, as far as clocks tell"
