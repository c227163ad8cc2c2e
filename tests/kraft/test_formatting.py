"""What keeps a controller from being formatted, before anything of it runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kraft.worlds import (
    CLUSTER,
    kraft_config,
    start_of,
    with_broker,
    with_controller,
)
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.do.tools import Tools
from towpath.kraft.do.waiting import StepWaits
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import MetaProperties, Observation
from towpath.kraft.journal import KraftJournal
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.wipe_controller import WipeController
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.runtime.deadline import Deadline
from towpath.settings.java_properties import read_properties

ONE = NodeId(3000)


def tools(folder: Path, told: KraftConfig, seen: Observation) -> Tools:
    drivers = drivers_of(told)
    waits = StepWaits(told.limits, drivers, lambda _: seen, lambda _: None)
    journal = KraftJournal(folder / "journal")
    return Tools(told, drivers, waits, journal, ZooKeeper(told.zookeeper))


def config(folder: Path, start: str = "true") -> KraftConfig:
    node = {"id": 3000, "address": "127.0.0.1:16300", "properties": str(folder / "c.properties"),
            "data": str(folder / "data")}  # fmt: skip
    data = kraft_config(nodes=[node]).model_dump(mode="python", by_alias=True)
    driver = {
        "via": "local",
        "folder": str(folder),
        "start": start,
        "format": "touch {properties}",
    }
    return KraftConfig.model_validate({**data, "driver": driver})


def test_keys_that_the_host_of_a_controller_lacks_are_named(tmp_path: Path) -> None:
    told, seen = config(tmp_path), start_of(kraft_config())
    keys = {"zookeeper.ssl.keystore.location": str(tmp_path / "keys.p12"),
            "zookeeper.ssl.truststore.location": str(tmp_path / "trust.p12")}  # fmt: skip
    for broker in seen.brokers.values():
        seen = with_broker(seen, broker.id, properties={**broker.properties, **keys})
    (tmp_path / "trust.p12").touch()
    with pytest.raises(StepRefusedError, match=r"lacks files: \S*/keys\.p12 \(zookeeper\.ssl\.k"):
        FormatController(ONE).do(tools(tmp_path, told, seen))
    (tmp_path / "keys.p12").touch()
    FormatController(ONE).do(tools(tmp_path, told, seen))
    written = read_properties((tmp_path / "c.properties").read_bytes())
    assert written.items() >= keys.items()


def test_a_metadata_log_of_unknown_origin_is_left(tmp_path: Path) -> None:
    (tmp_path / "data" / "__cluster_metadata-0").mkdir(parents=True)
    told, seen = config(tmp_path), start_of(kraft_config())
    with pytest.raises(StepRefusedError, match=r"without meta\.properties"):
        FormatController(ONE).do(tools(tmp_path, told, seen))
    assert seen.zookeeper is not None
    unseen = replace(seen, zookeeper=None)
    with pytest.raises(StepRefusedError, match="the cluster's id was not seen"):
        FormatController(ONE).do(tools(tmp_path, told, unseen))


def test_what_others_keep_in_the_folder_of_a_controller_survives_its_wipe(tmp_path: Path) -> None:
    """The folder may be where a disk is mounted, or hold more than it should."""
    told, seen = config(tmp_path), start_of(kraft_config())
    data = tmp_path / "data"
    (data / "__cluster_metadata-0").mkdir(parents=True)
    (data / "lost+found").mkdir()
    for name in ("meta.properties", "bootstrap.checkpoint", ".lock", "photo.jpg"):
        (data / name).touch()
    WipeController(ONE).do(tools(tmp_path, told, seen))
    assert {each.name for each in data.iterdir()} == {"lost+found", "photo.jpg"}


OTHERS = {
    "of another cluster": MetaProperties(
        directory="/data/c", version=1, cluster_id="OTHER", node=ONE, directory_id=None
    ),
    "of another node": MetaProperties(
        directory="/data/c", version=1, cluster_id=CLUSTER, node=NodeId(0), directory_id=None
    ),
}


@pytest.mark.parametrize("whose", OTHERS)
@pytest.mark.parametrize("step", [FormatController(ONE), WipeController(ONE)])
def test_a_folder_of_others_is_neither_formatted_nor_wiped(
    tmp_path: Path, whose: str, step: FormatController | WipeController
) -> None:
    told = config(tmp_path)
    seen = with_controller(start_of(told), ONE, meta=(OTHERS[whose],))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").touch()
    with pytest.raises(StepRefusedError, match="/data/c of controller 3000 belongs to node"):
        do(step, tools(tmp_path, told, seen))
    assert (tmp_path / "data" / "meta.properties").exists()
    assert not (tmp_path / "c.properties").exists()


@pytest.mark.parametrize("step", [FormatController(ONE), WipeController(ONE)])
def test_a_controller_that_runs_is_neither_formatted_nor_wiped(
    tmp_path: Path, step: FormatController | WipeController
) -> None:
    told = config(tmp_path, start="sleep 600")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").touch()
    with_it = tools(tmp_path, told, start_of(told))
    with_it.drivers[ONE].start()
    try:
        with pytest.raises(StepRefusedError, match="controller 3000 runs"):
            do(step, with_it)
    finally:
        with_it.drivers[ONE].stop(Deadline.after(30))
    assert (tmp_path / "data" / "meta.properties").exists()
    assert not (tmp_path / "c.properties").exists()


def do(step: FormatController | WipeController, with_it: Tools) -> None:
    if isinstance(step, FormatController):
        step.do(with_it)
    else:
        step.do(with_it)
