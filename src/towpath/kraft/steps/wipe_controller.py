"""The step that removes the data of a withdrawn controller."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.folders import controller_of, path_in, require_own
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.stored import CONTROLLER_FILES
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.steps.elections import with_node
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class WipeController(KraftStep):
    """Remove the data that a stopped controller of a withdrawn migration has stored.

    Attributes:
        node: The controller.
    """

    node: NodeId

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return f"remove everything that controller {self.node} has stored"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation with an unformatted folder."""
        del config
        yield with_node(seen, replace(seen.controllers[self.node], meta=()))

    def do(self, tools: Tools) -> StepFacts:
        """Remove Kafka's own files from the folder; other files stay.

        Raises:
            StepRefusedError: The controller runs, or the folder is that of another node.
        """
        driver, at = tools.drivers[self.node], controller_of(tools.config, self.node)
        if driver.started() is not None:
            raise StepRefusedError("WipeController", f"controller {self.node} runs")
        require_own(tools.waits.now(), self.node, "WipeController")
        for name in CONTROLLER_FILES:
            driver.remove(path_in(at.data, name))
        return {}

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that remove Kafka's own files inside the controller's held pod."""
        data = PurePosixPath(book.place(self.node).data or "")
        paths = shlex.join(str(data / name) for name in CONTROLLER_FILES)
        return [book.inside(self.node, f"rm -rf -- {paths}")], held
