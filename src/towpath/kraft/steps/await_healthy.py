"""The step that waits for brokers and replicas."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.stale_leaders import IsrWatch
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.facts.nodes import file_mode, serves
from towpath.kraft.facts.seen import Health, Observation
from towpath.kraft.steps.elections import with_node
from towpath.kraft.steps.foretell import registered
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class AwaitHealthy(KraftStep):
    """Wait until every broker that runs is registered and not fenced, and all are in sync.

    Nothing is restarted: an orchestrator that was killed behind a restart goes on with this.
    """

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return "wait until every broker serves and all replicas are in sync"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield observations of brokers that have joined, and of partitions in sync."""
        del config
        for node in seen.brokers.values():
            if node.running:
                answers = replace(node, mode=node.mode or file_mode(node))
                seen = registered(with_node(seen, answers), answers)
        yield replace(seen, health=Health())

    def do(self, tools: Tools) -> StepFacts:
        """Wait for brokers to serve, then for replicas to be in sync."""
        began = time.monotonic()
        seen = tools.waits.now()
        running = [each.id for each in seen.brokers.values() if each.running]
        tools.waits.until("all brokers that run serve", "start", _not_all_serving, running)
        watch = IsrWatch(tools.config.cluster, tools.waits.tell)
        what = "all replicas are in sync"
        tools.waits.until(what, "in_sync", watch.missing, running, watch.left)
        return {"seconds": since(began), "new_leader_epochs": watch.renewed}


def _not_all_serving(seen: Observation) -> str | None:
    idle = [
        str(each.id) for each in seen.brokers.values() if each.running and not serves(seen, each.id)
    ]
    return f"broker {', '.join(sorted(idle))} does not serve yet" if idle else None
