"""What each step does, as a sentence for people. Pure."""

from __future__ import annotations

from towpath.kraft.facts.nouns import BrokerMode
from towpath.kraft.findings.findings import several
from towpath.kraft.steps.kinds import (
    AwaitCopy,
    AwaitFinal,
    AwaitHealthy,
    Compare,
    FormatController,
    MendMetaProperties,
    RaiseControllerEpoch,
    RaisePartitionVersions,
    ReleaseZooKeeper,
    RestartController,
    RollBroker,
    StartControllers,
    Step,
    StopControllers,
    WipeController,
)
from towpath.model.amounts import counted

_MODES = {
    BrokerMode.ZOOKEEPER: "ZooKeeper mode",
    BrokerMode.MIGRATION: "migration mode",
    BrokerMode.KRAFT: "KRaft mode",
}


def sentence(step: Step) -> str:
    """Return what a step does, such as `restart broker 1 in migration mode`."""
    return _of_node(step) if isinstance(step, _OneNode) else _of_cluster(step)


_OneNode = FormatController | RollBroker | RestartController | MendMetaProperties | WipeController


def _of_node(step: _OneNode) -> str:
    match step:
        case FormatController():
            lost = ", whose disk is lost, anew while the others lead" if step.anew else ""
            return f"write the properties of controller {step.node} and format its folder{lost}"
        case RollBroker():
            return f"restart broker {step.node} in {_MODES[step.mode]}"
        case RestartController(rewrite=True):
            return (
                f"restart controller {step.node}, which leads, so that the next leader writes to"
                " ZooKeeper what differs"
            )
        case RestartController():
            how = "with" if step.flag else "without"
            return f"restart controller {step.node} {how} the migration's flag"
        case MendMetaProperties():
            return (
                f"stop broker {step.node} and rewrite {step.directory}/meta.properties as version"
                " 0, which ZooKeeper mode can read"
            )
        case WipeController():
            return f"remove everything that controller {step.node} has stored"


_Cluster = (
    StartControllers
    | AwaitHealthy
    | AwaitCopy
    | Compare
    | AwaitFinal
    | StopControllers
    | RaiseControllerEpoch
    | RaisePartitionVersions
    | ReleaseZooKeeper
)


def _of_cluster(step: _Cluster) -> str:
    match step:
        case StartControllers():
            return f"start controllers {_ids(step.nodes)} and wait for their leader"
        case StopControllers():
            return f"stop controllers {_ids(step.nodes)}"
        case RaiseControllerEpoch():
            return f"raise ZooKeeper's /controller_epoch to {step.to}"
        case RaisePartitionVersions():
            states = counted(step.partitions, "partition state")
            return f"raise the versions of {states} in ZooKeeper to those that leaders know"
        case ReleaseZooKeeper():
            return _released(step)
        case AwaitHealthy() | AwaitCopy() | Compare() | AwaitFinal():
            return _WAITS[type(step)]


_WAITS = {
    AwaitHealthy: "wait until every broker serves and all replicas are in sync",
    AwaitCopy: "wait until the controllers have copied ZooKeeper",
    Compare: "compare ZooKeeper with the metadata log, and create and delete a probe topic",
    AwaitFinal: "wait until the metadata log says that the migration is over",
}


def _released(step: ReleaseZooKeeper) -> str:
    znodes = [("/controller", step.controller), ("/migration", step.migration)]
    named = " and ".join(f"{path} (version {at})" for path, at in znodes if at is not None)
    return f"delete {named or 'nothing'} in ZooKeeper and wait for a broker as controller"


def _ids(nodes: tuple[int, ...]) -> str:
    return several(tuple(map(str, nodes)))
