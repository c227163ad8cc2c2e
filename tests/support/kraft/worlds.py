"""Clusters on their way to KRaft, as they would be seen: for tests of what is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tests.support.kraft.decisions import next_step
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.decide.moves import Reached
from towpath.kraft.facts.image import ClusterImage, ImageComparison, ImageDifference, ImageKind
from towpath.kraft.facts.nouns import BrokerMode, Goal, NodeId, Role, Stage
from towpath.kraft.facts.seen import (
    ControllerZnode,
    Health,
    MetaProperties,
    MigrationZnode,
    NodeSeen,
    Observation,
    ZooKeeperSeen,
)
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.foretell import answering, registered, stopped
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
FLAG = "zookeeper.metadata.migration.enable"
EQUAL = ImageComparison({}, {}, ())
UNEQUAL = ImageComparison(
    {ImageKind.ACLS: 1}, {}, (ImageDifference(ImageKind.ACLS, "a/b", "", "allow"),)
)


def kraft_config(
    brokers: int = 3,
    controllers: int = 3,
    *,
    soak: str = "0s",
    pause: str = "0s",
    **controllers_too: object,
) -> KraftConfig:
    """Return the file of a migration of brokers 0, 1, ... to controllers 3000, 3001, ..."""
    data: dict[str, Any] = {
        "kind": "kraft",
        "kraft": "trial",
        "cluster": {"bootstrap": ["127.0.0.1:16000"]},
        "zookeeper": {"connect": "127.0.0.1:16181"},
        "brokers": [
            {"id": each, "address": f"127.0.0.1:{16000 + each}", "properties": f"/b{each}"}
            for each in range(brokers)
        ],
        "controllers": {
            "nodes": [
                {
                    "id": 3000 + each,
                    "address": f"127.0.0.1:{16300 + each}",
                    "properties": f"/c{each}",
                    "data": f"/data/c{each}",
                }
                for each in range(controllers)
            ],
            **controllers_too,
        },
        "limits": {"soak": soak, "pause": pause},
        "driver": {"via": "local", "folder": "/run", "format": "format", "start": "start"},
        "journal": "/journal",
    }
    return KraftConfig.model_validate(data)


def broker_properties(node: int) -> Mapping[str, str]:
    """Return what a broker in ZooKeeper mode has in its file."""
    return {
        "broker.id": str(node),
        "zookeeper.connect": "127.0.0.1:16181",
        "inter.broker.protocol.version": "3.9",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"PLAINTEXT://127.0.0.1:{16000 + node}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
        "log.dirs": f"/data/b{node}",
    }


def broker_seen(node: int) -> NodeSeen:
    """Return a broker that serves in ZooKeeper mode."""
    meta = MetaProperties(
        directory=f"/data/b{node}",
        version=0,
        cluster_id=CLUSTER,
        node=NodeId(node),
        directory_id=None,
    )
    return NodeSeen(
        id=NodeId(node),
        role=Role.BROKER,
        running=True,
        mode=BrokerMode.ZOOKEEPER,
        flag=False,
        properties=broker_properties(node),
        meta=(meta,),
        software="3.9",
        build="3.9.2",
    )


def start_of(config: KraftConfig, *, epoch: int = 5) -> Observation:
    """Return what is seen of a healthy cluster before anything was done."""
    brokers = {NodeId(each.id): broker_seen(each.id) for each in config.brokers}
    controllers = {
        NodeId(each.id): NodeSeen(
            id=NodeId(each.id),
            role=Role.CONTROLLER,
            running=False,
            mode=None,
            flag=None,
            properties={},
        )
        for each in config.controllers.nodes
    }
    zookeeper = ZooKeeperSeen(
        cluster_id=CLUSTER,
        controller=ControllerZnode(id=min(brokers), kraft_epoch=-1, ephemeral=True, version=0),
        controller_epoch=(epoch, epoch),
        migration=None,
        brokers=frozenset(brokers),
        image=ClusterImage(),
    )
    return Observation(
        at=1_800_000_000_000,
        zookeeper=zookeeper,
        quorum=None,
        log=None,
        brokers=brokers,
        controllers=controllers,
        health=Health(),
    )


def with_broker(seen: Observation, node: int, **changes: Any) -> Observation:
    """Return an observation with one broker changed."""
    changed = replace(seen.brokers[NodeId(node)], **changes)
    return replace(seen, brokers={**seen.brokers, changed.id: changed})


def with_controller(seen: Observation, node: int, **changes: Any) -> Observation:
    """Return an observation with one controller changed."""
    changed = replace(seen.controllers[NodeId(node)], **changes)
    return replace(seen, controllers={**seen.controllers, changed.id: changed})


def with_zookeeper(seen: Observation, **changes: Any) -> Observation:
    """Return an observation with ZooKeeper changed."""
    assert seen.zookeeper is not None
    return replace(seen, zookeeper=replace(seen.zookeeper, **changes))


def with_log(seen: Observation, **changes: Any) -> Observation:
    """Return an observation with the metadata log changed."""
    assert seen.log is not None
    return replace(seen, log=replace(seen.log, **changes))


def migration_znode(offset: int, *, claimed: bool = True) -> MigrationZnode:
    """Return `/migration` at an offset."""
    controller = 3000 if claimed else -1
    return MigrationZnode(controller=controller, controller_epoch=1, offset=offset, offset_epoch=1)


def walk(
    config: KraftConfig, seen: Observation, goal: Goal
) -> tuple[list[tuple[KraftStep, Stage]], Observation]:
    """Do all steps on the model; return them with the stages that they lead to."""
    done: list[tuple[KraftStep, Stage]] = []
    for _ in range(100):
        step = next_step(config, seen, goal)
        if isinstance(step, Reached):
            return done, seen
        assert not isinstance(step, Refused), [str(each) for each in step.reasons]
        seen = step.after(config, seen)
        done.append((step, stage_of(seen).stage))
    raise AssertionError(f"no end: {done}")


def at_stage(config: KraftConfig, stage: Stage, *, epoch: int = 5) -> Observation:
    """Return what is seen the first time that the straight way passes a stage."""
    seen = start_of(config, epoch=epoch)
    while stage_of(seen).stage is not stage:
        step = next_step(config, seen, Goal.FINAL)
        assert not isinstance(step, Reached | Refused), step
        seen = next(
            (at for at in step.effects(config, seen) if stage_of(at).stage is stage), None
        ) or step.after(config, seen)
    return seen


def codes_of(found: Iterable[Finding]) -> set[FindingCode]:
    """Return the codes of findings."""
    return {each.code for each in found}


def reasons(config: KraftConfig, seen: Observation, goal: Goal) -> set[FindingCode]:
    """Return why no step is safe."""
    step = next_step(config, seen, goal)
    assert isinstance(step, Refused), step
    return codes_of(step.reasons)


def end(seen: Observation, node: NodeSeen) -> Observation:
    """Return what would be seen if a node ended."""
    return stopped(seen, node)


def start(seen: Observation, node: NodeSeen) -> Observation:
    """Return what would be seen if a node was started with the file that it has."""
    if node.role is Role.CONTROLLER:
        return [seen, *StartControllers((node.id,)).effects(kraft_config(), seen)][-1]
    seen = answering(seen, node)
    return registered(seen, seen.brokers[node.id])
