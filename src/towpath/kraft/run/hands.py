"""Execution of a migration's steps, each with newly made tools."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.do.waiting import Look, StepWaits, Tell
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.journal import KraftJournal
from towpath.kraft.reach.driver import Driver
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.zookeeper.client import ZooKeeper


class Hands:
    """Executes steps on real nodes.

    Args:
        config: The file.
        drivers: One for each node.
        zookeeper: An open session.
        look: Looks at the whole cluster.
        journal: Keeps originals of files and znodes.
    """

    def __init__(
        self,
        config: KraftConfig,
        drivers: Mapping[NodeId, Driver],
        zookeeper: ZooKeeper,
        look: Look,
        journal: KraftJournal,
    ) -> None:
        self._journal = journal
        self._config, self._drivers = config, drivers
        self._zookeeper, self._look = zookeeper, look

    def do(self, step: KraftStep, tell: Tell, stop: Event) -> StepFacts:
        """Do a step to its end, and return its facts.

        Args:
            step: The step.
            tell: Is told what is waited for.
            stop: Once it is set, waits end as soon as nothing of the step must follow.

        Raises:
            TowpathError: What `KraftStep.do` raises.
        """
        waits = StepWaits(self._config.limits, self._drivers, self._look, tell, stop)
        return step.do(Tools(self._config, self._drivers, waits, self._journal, self._zookeeper))
