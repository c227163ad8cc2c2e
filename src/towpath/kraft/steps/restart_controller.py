"""The step that restarts a controller with or without the migration's flag."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.quorum import await_quorum
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.do.waiting import unchanged
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation, Oddity
from towpath.kraft.facts.states import to_make
from towpath.kraft.files.configs import Properties, controller_properties
from towpath.kraft.findings.findings import Refused, several
from towpath.kraft.journal import KraftEvent
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.standing.alarms import quotas_left, states_not_made
from towpath.kraft.steps.elections import EQUAL, elected, with_node, written
from towpath.kraft.steps.foretell import controller_started, stopped
from towpath.kraft.steps.step import WritingStep


@dataclass(frozen=True, slots=True)
class RestartController(WritingStep):
    """Restart a controller with or without the migration's flag, and wait for its quorum.

    Attributes:
        flag: Whether it gets the flag.
        rewrite: Whether it is restarted, though nothing about it is to change, so that the next
            leader writes to ZooKeeper what this one has lost (`facts.quotas`), or cannot write, as
            a state is missing that is made then (`facts.states`).
    """

    flag: bool
    rewrite: bool = False

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        if self.rewrite:
            return (
                f"restart controller {self.node}, which leads, so that the next leader writes to"
                " ZooKeeper what differs"
            )
        how = "with" if self.flag else "without"
        return f"restart controller {self.node} {how} the migration's flag"

    @property
    def starts(self) -> tuple[NodeId, ...]:
        """The controller that is restarted."""
        return (self.node,)

    @property
    def finalizes(self) -> bool:
        """Whether the controller then lacks the migration flag, so any election may finalize."""
        return not self.flag

    def properties(self, config: KraftConfig, seen: Observation) -> Properties | Refused:
        """Return the controller's properties."""
        return controller_properties(config, self.node, seen, flag=self.flag)

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield observations of the controller's new file, stop, start, and an election."""
        node = seen.controllers[self.node]
        node = replace(node, properties=self.foreseen(config, seen), stale=node.running)
        proven = replace(seen.proven, stopped=None, finalizing=not self.flag)
        seen = with_node(replace(seen, proven=proven), node)
        yield seen
        seen = stopped(seen, node)
        yield seen
        seen = controller_started(seen, self.node)
        yield seen
        seen = elected(seen)
        yield _rewritten(seen) if self.rewrite else seen

    def proof(self, seen: Observation) -> tuple[KraftEvent, Mapping[str, object]] | None:
        """Return the journal entry for started controllers."""
        del seen
        return KraftEvent.STARTED, {}

    def do(self, tools: Tools) -> StepFacts:
        """Restart the controller unless it already runs with that migration flag and file.

        One that is restarted so that the next leader writes ZooKeeper is restarted if it leads
        still: the wait is not over before ZooKeeper has lost what the log has not.
        """
        node, seen = self.node, tools.waits.now()
        wanted = self.required(tools.config, seen)
        there, facts = seen.controllers.get(node), dict[str, object]()
        runs = there is not None and there.running and not there.stale and there.flag is self.flag
        still = self.rewrite and _not_rewritten(seen) is not None
        if self.rewrite:
            _make_states(tools, seen)
        if there is None or not runs or still or dict(there.properties) != dict(wanted):
            tools.write(node, wanted, whole=True)
            facts |= tools.stop(node)
            tools.drivers[node].start()
        began, flag = time.monotonic(), "with" if self.flag else "without"
        done = f"controller {node} was restarted {flag} the migration's flag"
        left = done if facts else unchanged()
        await_quorum(tools, [node], lambda: left)
        if self.rewrite:
            what = "the next leader has written to ZooKeeper what differs"
            tools.waits.until(what, "copy", lambda it: _lacking(tools, it), [node], lambda: left)
        return {**facts, "start_seconds": since(began)}

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that apply the controller's properties and recreate its pod."""
        flag = "with-flag" if self.flag else "without-flag"
        wanted = self.required(book.config, book.seen)
        properties = book.properties(self.node, wanted, f"controller-{self.node}-{flag}.yaml")
        lines, held = book.release((self.node,), held)
        return [book.apply_properties(properties, self.node), *lines], held


def _rewritten(seen: Observation) -> Observation:
    """Return what is seen once a new leader has written to ZooKeeper what differs."""
    if seen.zookeeper is None or seen.log is None:
        return seen
    image = replace(seen.zookeeper.image, quotas=seen.log.image.quotas)
    odd = tuple(each for each in seen.zookeeper.odd if each.oddity is not Oddity.NO_STATE)
    zookeeper = replace(seen.zookeeper, image=image, odd=odd)
    return written(replace(seen, zookeeper=zookeeper, comparison=EQUAL))


def _make_states(tools: Tools, seen: Observation) -> None:
    """Make the states that the next leader writes without making them, and would stop at."""
    if seen.zookeeper is None or seen.log is None or seen.quorum is None:
        return
    if wanted := to_make(seen.zookeeper, seen.log.image):
        named = several(tuple(map(str, sorted(wanted))))
        tools.waits.tell(f"making the missing states of partitions {named} in ZooKeeper")
        tools.zookeeper.make_states(wanted, seen.quorum.epoch, tools.patience)


def _lacking(tools: Tools, seen: Observation) -> str | None:
    """Return what ZooKeeper still lacks; states of partitions added just now are made at once."""
    if states_not_made(seen):
        _make_states(tools, seen)
    return _not_rewritten(seen)


def _not_rewritten(seen: Observation) -> str | None:
    if left := quotas_left(seen):
        return f"ZooKeeper still has the quotas of {several(left)}"
    if lost := states_not_made(seen):
        return f"ZooKeeper has no state of partitions {several(lost)}"
    return None
