"""A node is stopped only once its new file is written: a full disk leaves it running as it was."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.kraft.worlds import kraft_config, start_of, with_broker, with_controller
from towpath.dev import ports
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.do.tools import Tools
from towpath.kraft.do.waiting import StepWaits
from towpath.kraft.errors import DriverError, KraftJournalError
from towpath.kraft.facts.nouns import BrokerMode, NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.journal import KraftJournal
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.steps.mend_meta_properties import MendMetaProperties
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.zookeeper.client import ZooKeeper

BROKER, CONTROLLER = NodeId(0), NodeId(3000)


@dataclass(frozen=True)
class Site:
    """Two nodes that are processes, which do nothing, and their files."""

    folder: Path
    tools: Tools

    def runs(self, node: NodeId) -> bool:
        return self.tools.drivers[node].started() is not None


def tools(folder: Path, config: KraftConfig, seen: Observation) -> Tools:
    drivers = drivers_of(config)
    waits = StepWaits(config.limits, drivers, lambda _: seen, lambda _: None)
    journal = KraftJournal(folder / "journal")
    return Tools(config, drivers, waits, journal, ZooKeeper(config.zookeeper))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    data = kraft_config(1, 1).model_dump(mode="python", by_alias=True)
    data["limits"] = {"start": "1s", "stop": "1s", "in_sync": "1s"}
    data["driver"] = {"via": "local", "folder": str(tmp_path / "run"), "start": "sleep 600",
                      "format": "true"}  # fmt: skip
    for node in data["brokers"], data["controllers"]["nodes"]:
        node[0]["properties"] = str(tmp_path / f"{node[0]['id']}.properties")
    [port] = ports.reserve(1)
    data["controllers"]["nodes"][0]["address"] = f"127.0.0.1:{port}"
    config = KraftConfig.model_validate(data)
    seen = with_broker(start_of(config), 0)
    seen = with_controller(seen, 3000, running=True, flag=True, properties={"node.id": "3000"})
    made = Site(tmp_path, tools(tmp_path, config, seen))
    for node in BROKER, CONTROLLER:
        text = f"node.id={node}\nbroker.id={node}\n"
        (tmp_path / f"{node}.properties").write_text(text)
        made.tools.drivers[node].start()
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=0\n")
    with socket.create_server(("127.0.0.1", port)):  # hosts of brokers look whether it answers
        yield made
    for node in BROKER, CONTROLLER:
        made.tools.drivers[node].kill()  # type: ignore[attr-defined]


STEPS: dict[str, tuple[NodeId, Callable[[Site], object]]] = {
    "a broker": (
        BROKER,
        lambda site: RollBroker(BROKER, BrokerMode.MIGRATION).do(site.tools),
    ),
    "a controller": (
        CONTROLLER,
        lambda site: RestartController(CONTROLLER, flag=True).do(site.tools),
    ),
    "meta.properties": (
        BROKER,
        lambda site: MendMetaProperties(BROKER, str(site.folder)).do(site.tools),
    ),
}


@pytest.mark.parametrize("what", STEPS)
def test_an_original_that_cannot_be_kept_stops_no_node(site: Site, what: str) -> None:
    node, step = STEPS[what]
    (site.folder / "journal").mkdir()
    (site.folder / "journal" / "kept").write_text("a file stands where the folder should be")
    with pytest.raises(KraftJournalError):
        step(site)
    assert site.runs(node)


@pytest.mark.parametrize("what", [each for each in STEPS if each != "meta.properties"])
def test_a_file_that_cannot_be_written_stops_no_node(site: Site, what: str) -> None:
    node, step = STEPS[what]
    (site.folder / f".{node}.properties.towpath").mkdir()
    with pytest.raises(DriverError, match="writing"):
        step(site)
    assert site.runs(node)
