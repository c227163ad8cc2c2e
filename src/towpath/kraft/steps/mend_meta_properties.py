"""The step that rewrites a broker's `meta.properties` for ZooKeeper mode."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import ClassVar

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.stored import META
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.steps.elections import with_node
from towpath.kraft.steps.foretell import stopped
from towpath.kraft.steps.step import KraftStep
from towpath.settings.java_properties import change_properties, read_properties

_MEND = "sed -i -e 's/^version=.*/version=0/' -e 's/^node\\.id=/broker.id=/'"


@dataclass(frozen=True, slots=True)
class MendMetaProperties(KraftStep):
    """Stop a broker, and rewrite a log directory's `meta.properties` as version 0.

    The broker is left stopped: the next step for it starts it again.

    Attributes:
        node: The broker.
        directory: The log directory.
    """

    stops_broker: ClassVar[bool] = True
    node: NodeId
    directory: str

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return (
            f"stop broker {self.node} and rewrite {self.directory}/meta.properties as version 0,"
            " which ZooKeeper mode can read"
        )

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield observations of the stopped broker, then of its rewritten file."""
        del config
        seen = stopped(seen, seen.brokers[self.node])
        yield seen
        node = seen.brokers[self.node]
        meta = tuple(
            replace(each, version=0) if each.directory == self.directory else each
            for each in node.meta
        )
        yield with_node(seen, replace(node, meta=meta))

    def do(self, tools: Tools) -> StepFacts:
        """Stop the broker, and rewrite its `meta.properties`.

        Raises:
            StepRefusedError: There is no such file.
        """
        node = self.node
        driver, path = tools.drivers[node], str(PurePosixPath(self.directory) / META)
        data = driver.read(path)
        if data is None:
            raise StepRefusedError("MendMetaProperties", f"{path} of broker {node} is not there")
        tools.journal.keep(node, path, data)
        facts = tools.stop(node)
        told = read_properties(data)
        if told.get("version") != "0":
            change = {"version": "0", "node.id": None, "broker.id": str(node)}
            tools.replace(node, path, data, change_properties(data, change))
        return facts

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that rewrite `meta.properties` inside the broker's held pod."""
        lines, held = book.hold((self.node,), held)
        path = str(PurePosixPath(self.directory) / META)
        return [*lines, book.inside(self.node, f"{_MEND} {shlex.quote(path)}")], held
