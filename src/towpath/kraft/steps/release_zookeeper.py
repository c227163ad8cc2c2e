"""The step that gives ZooKeeper back to the brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.facts.seen import Observation
from towpath.kraft.journal import KraftEvent
from towpath.kraft.steps.elections import broker_elected
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.zookeeper.write import CONTROLLER, MIGRATION, ReleasedZnodes


@dataclass(frozen=True, slots=True)
class ReleaseZooKeeper(KraftStep):
    """Delete `/controller` and `/migration` together, then wait for a broker as controller.

    Attributes:
        controller: Version of `/controller` that was seen; None where it stays.
        migration: Version of `/migration` that was seen; None where there is none.
    """

    controller: int | None
    migration: int | None

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        znodes = [("/controller", self.controller), ("/migration", self.migration)]
        named = " and ".join(f"{path} (version {at})" for path, at in znodes if at is not None)
        return f"delete {named or 'nothing'} in ZooKeeper and wait for a broker as controller"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation without both znodes, and with an elected broker."""
        del config
        zookeeper = seen.zookeeper
        if zookeeper is None:
            yield seen
            return
        controller = zookeeper.controller if self.controller is None else None
        released = replace(zookeeper, migration=None, controller=controller)
        yield broker_elected(replace(seen, zookeeper=released))

    def do(self, tools: Tools) -> StepFacts:
        """Delete both znodes after the journal has their contents, and wait for the election."""
        began = time.monotonic()

        def keep(znodes: ReleasedZnodes) -> None:
            held = {CONTROLLER: znodes.controller, MIGRATION: znodes.migration}
            tools.journal.add(KraftEvent.DELETED, znodes=held)

        released = tools.zookeeper.release(self.controller, self.migration, tools.patience, keep)
        left = "ZooKeeper was released: `/controller` and `/migration` of KRaft are deleted"
        what = "a broker is controller in ZooKeeper"
        tools.waits.until(what, "start", _not_led, left=lambda: left)
        return {
            "controller": released.controller,
            "migration": released.migration,
            "seconds": since(began),
        }


def _not_led(seen: Observation) -> str | None:
    if seen.zookeeper is None:
        return "ZooKeeper was not seen"
    holder = seen.zookeeper.controller
    if holder is None:
        return "/controller does not exist yet"
    if holder.kraft_epoch >= 0 or not holder.ephemeral:
        return f"/controller names controller {holder.id} of KRaft"
    return None
