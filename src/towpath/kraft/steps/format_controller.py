"""The step that formats the folder of a controller."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.folders import cluster_id, controller_of, path_in, require_own
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import MetaProperties, Observation
from towpath.kraft.files.configs import Properties, controller_properties
from towpath.kraft.files.stored import META, METADATA_LOG
from towpath.kraft.findings.findings import Refused
from towpath.kraft.reach.commands import format_command
from towpath.kraft.reach.driver import Driver
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.standing.disks import unproven
from towpath.kraft.steps.elections import with_node
from towpath.kraft.steps.step import WritingStep
from towpath.runtime.deadline import Deadline

_FILE_KEYS = ("keystore.location", "truststore.location")


@dataclass(frozen=True, slots=True)
class FormatController(WritingStep):
    """Write a controller's properties and format its folder.

    Attributes:
        flag: Whether it gets the migration's flag.
        anew: Whether its disk was lost, and it gets the log from the others, who lead.
    """

    flag: bool = True
    anew: bool = False

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        lost = ", whose disk is lost, anew while the others lead" if self.anew else ""
        return f"write the properties of controller {self.node} and format its folder{lost}"

    def properties(self, config: KraftConfig, seen: Observation) -> Properties | Refused:
        """Return the controller's properties."""
        return controller_properties(config, self.node, seen, flag=self.flag)

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation with a formatted folder and its properties."""
        node = seen.controllers[self.node]
        cluster = seen.zookeeper.cluster_id if seen.zookeeper else ""
        meta = MetaProperties(
            directory="", version=1, cluster_id=cluster, node=node.id, directory_id=None
        )
        epochs = () if self.anew else node.epochs
        file = self.foreseen(config, seen)
        yield with_node(seen, replace(node, meta=(meta,), properties=file, epochs=epochs))

    def do(self, tools: Tools) -> StepFacts:
        """Write the properties and format the folder, unless both are done.

        Raises:
            StepRefusedError: The folder belongs to another cluster or node, or holds a metadata
                log; or files that the properties name, such as keys, are not on its host; or its
                disk was lost, and the others are not seen to hold all that is committed.
            DriverError: The command failed.
        """
        node, began = self.node, time.monotonic()
        driver, at = tools.drivers[node], controller_of(tools.config, node)
        stopped = self._stop_lost(tools) if self.anew else {}
        seen = tools.waits.now()
        if driver.started() is not None:
            raise StepRefusedError("FormatController", f"controller {node} runs")
        wanted = self.required(tools.config, seen)
        cluster = cluster_id(seen)
        if not cluster:
            raise StepRefusedError("FormatController", "the cluster's id was not seen")
        require_own(seen, node, "FormatController")
        if self.anew:
            _require_holders(seen, node)
        tools.write(node, wanted, whole=True)
        _require_files(driver, node, wanted)
        if driver.modified(path_in(at.data, META)) is not None:
            return {**stopped, "seconds": since(began)}
        if driver.modified(path_in(at.data, METADATA_LOG)) is not None:
            why = f"{at.data} of controller {node} holds a metadata log without {META}"
            raise StepRefusedError("FormatController", f"{why}; look whose it is, and move it away")
        command = format_command(tools.config, at, cluster, seen)
        driver.run(command, Deadline.after(tools.config.limits.start))
        return {**stopped, "seconds": since(began)}

    def _stop_lost(self, tools: Tools) -> StepFacts:
        """Stop a controller that still runs though its folder is gone."""
        driver, at = tools.drivers[self.node], controller_of(tools.config, self.node)
        if driver.started() is None or driver.modified(path_in(at.data, META)) is not None:
            return {}
        _require_holders(tools.waits.now(), self.node)
        return tools.stop(self.node)

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that create the controller's held pod, and format its folder."""
        at = book.place(self.node)
        told = controller_of(book.config, self.node)
        held = held | {at.pod}
        cluster = book.seen.zookeeper.cluster_id if book.seen.zookeeper else "CLUSTER_ID"
        command = format_command(book.config, told, cluster, book.seen)
        wanted = self.required(book.config, book.seen)
        properties = book.properties(self.node, wanted, f"controller-{self.node}-with-flag.yaml")
        return [
            book.apply(book.held_file(held)),
            book.apply_properties(properties, self.node),
            book.apply(book.controller_file(told, at)),
            book.await_held(at),
            book.inside(self.node, shlex.join(command)),
        ], held


def _require_holders(seen: Observation, node: NodeId) -> None:
    """Raise where a controller must not begin with an empty log; see `standing.disks`."""
    if (gate := unproven(seen, node)) is not None:
        raise StepRefusedError("FormatController", str(gate))


def _require_files(driver: Driver, node: NodeId, wanted: Mapping[str, str]) -> None:
    """Raise where keys that the properties name are missing: most come from brokers' files."""
    named = {key: path for key, path in wanted.items() if key.endswith(_FILE_KEYS)}
    missing = [
        f"{path} ({key})"
        for key, path in sorted(named.items())
        if path.startswith("/") and driver.modified(path) is None
    ]
    if missing:
        why = f"the host of controller {node} lacks files: {', '.join(missing)}; copy them there"
        advice = "or name others in `controllers.properties`"
        raise StepRefusedError("FormatController", f"{why}, {advice}")
