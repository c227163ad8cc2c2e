"""What each step does to an observation, one effect after another: the model behind outlines. Pure.

A step may be cut off behind any effect. Where a model must guess, it takes what happens in a
cluster without faults: who is elected is the running voter with the lowest id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts.nodes import file_mode
from towpath.kraft.facts.nouns import BrokerMode, LogState, NodeId, Role
from towpath.kraft.facts.seen import (
    BrokerRegistration,
    Health,
    MetaProperties,
    NodeSeen,
    Observation,
    has_flag,
)
from towpath.kraft.files.configs import Properties
from towpath.kraft.findings.findings import Refused
from towpath.kraft.standing.alarms import holds_everything
from towpath.kraft.standing.partition_versions import lower_versions, with_versions
from towpath.kraft.steps.elections import (
    EQUAL,
    broker_elected,
    by_itself,
    elected,
    with_log,
    with_node,
)
from towpath.kraft.steps.file_changes import rendered
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


def after(config: KraftConfig, seen: Observation, step: Step) -> Observation:
    """Return what would be seen once a step is done, and what follows from it by itself."""
    return by_itself([seen, *along(config, seen, step)][-1])


def along(config: KraftConfig, seen: Observation, step: Step) -> Iterator[Observation]:
    """Yield what would be seen behind each effect of a step."""
    made = rendered(config, seen, step)
    file = {} if made is None or isinstance(made, Refused) else made
    match step:
        case FormatController() | WipeController():
            yield _stored(seen, step, file)
        case StartControllers():
            yield from _start_controllers(seen, step.nodes)
        case RestartController():
            yield from _restart(seen, step, file)
        case StopControllers():
            yield from _stop_controllers(seen, step.nodes)
        case RollBroker():
            yield from _roll(seen, step, file)
        case MendMetaProperties():
            yield from _mend(seen, step)
        case RaiseControllerEpoch() | RaisePartitionVersions() | ReleaseZooKeeper():
            yield _written(seen, step)
        case AwaitCopy() | AwaitHealthy() | Compare() | AwaitFinal():
            yield _awaited(seen, step)


def _awaited(
    seen: Observation, step: AwaitCopy | AwaitHealthy | Compare | AwaitFinal
) -> Observation:
    match step:
        case AwaitCopy():
            return by_itself(seen)
        case AwaitHealthy():
            return replace(_all_registered(seen), health=Health())
        case Compare():
            return _compared(seen)
        case AwaitFinal():
            return with_log(seen, state=LogState.POST_MIGRATION)


def _stored(
    seen: Observation, step: FormatController | WipeController, file: Properties
) -> Observation:
    node = seen.controllers[step.node]
    if isinstance(step, WipeController):
        return with_node(seen, replace(node, meta=()))
    cluster = seen.zookeeper.cluster_id if seen.zookeeper else ""
    meta = MetaProperties(
        directory="", version=1, cluster_id=cluster, node=node.id, directory_id=None
    )
    epochs = () if step.anew else node.epochs
    return with_node(seen, replace(node, meta=(meta,), properties=file, epochs=epochs))


def end(seen: Observation, node: NodeSeen) -> Observation:
    """Return what would be seen if a node ended."""
    return _stopped(seen, node)


def start(seen: Observation, node: NodeSeen) -> Observation:
    """Return what would be seen if a node was started with the file that it has."""
    if node.role is Role.CONTROLLER:
        return [seen, *_start_controllers(seen, (node.id,))][-1]
    seen = _answering(seen, node)
    return _registered(seen, seen.brokers[node.id])


def _stopped(seen: Observation, node: NodeSeen) -> Observation:
    """Return what is seen once a node has ended, and another controller is elected."""
    seen = with_node(seen, replace(node, running=False, mode=None, flag=None, stale=False))
    if node.role is Role.CONTROLLER:
        return elected(seen)
    if seen.zookeeper is not None:
        brokers = seen.zookeeper.brokers - {node.id}
        seen = replace(seen, zookeeper=replace(seen.zookeeper, brokers=brokers))
        seen = broker_elected(seen)
    known = seen.log.brokers.get(node.id) if seen.log else None
    return seen if known is None else with_log(seen, broker=replace(known, fenced=True))


def _started(seen: Observation, node: NodeId) -> Observation:
    controller = seen.controllers[node]
    flag = has_flag(controller.properties)
    return with_node(seen, replace(controller, running=True, flag=flag, stale=False))


def _start_controllers(seen: Observation, nodes: tuple[NodeId, ...]) -> Iterator[Observation]:
    proven = replace(seen.proven, stopped=None)
    seen = replace(seen, proven=proven)
    for node in nodes:
        if not seen.controllers[node].running:
            seen = _started(seen, node)
            yield seen
    yield _fetched(elected(seen), nodes)


def _fetched(seen: Observation, nodes: tuple[NodeId, ...]) -> Observation:
    """Return what is seen once controllers have got the log from their leader."""
    if seen.quorum is None:
        return seen
    held = seen.controllers[seen.quorum.leader].epochs
    for node in nodes:
        if seen.controllers[node].epochs == ():
            seen = with_node(seen, replace(seen.controllers[node], epochs=held))
    return seen


def _stop_controllers(seen: Observation, nodes: tuple[NodeId, ...]) -> Iterator[Observation]:
    controller = seen.zookeeper.controller if seen.zookeeper else None
    if holds_everything(seen) and controller is not None:
        proven = replace(seen.proven, stopped=controller.kraft_epoch)
        seen = replace(seen, proven=proven)
    for node in nodes:
        seen = _stopped(seen, seen.controllers[node])
        yield seen


def _restart(seen: Observation, step: RestartController, file: Properties) -> Iterator[Observation]:
    node = seen.controllers[step.node]
    node = replace(node, properties=file, stale=node.running)
    proven = replace(seen.proven, stopped=None, finalizing=not step.flag)
    seen = with_node(replace(seen, proven=proven), node)
    yield seen
    seen = _stopped(seen, node)
    yield seen
    seen = _started(seen, step.node)
    yield seen
    seen = elected(seen)
    yield _rewritten(seen) if step.rewrite else seen


def _rewritten(seen: Observation) -> Observation:
    """Return what is seen once a new leader has written to ZooKeeper what differs."""
    if seen.zookeeper is None or seen.log is None:
        return seen
    image = replace(seen.zookeeper.image, quotas=seen.log.image.quotas)
    return replace(seen, zookeeper=replace(seen.zookeeper, image=image), comparison=EQUAL)


def _roll(seen: Observation, step: RollBroker, file: Properties) -> Iterator[Observation]:
    node = seen.brokers[step.node]
    written = replace(node, properties=file, stale=node.running)
    seen = with_node(seen, written)
    yield seen
    seen = _stopped(seen, written)
    yield seen
    seen = _answering(seen, seen.brokers[step.node])
    yield seen
    yield _registered(seen, seen.brokers[step.node])


def _answering(seen: Observation, node: NodeSeen) -> Observation:
    """Return what is seen once a broker answers, before it has joined its cluster."""
    mode = file_mode(node)
    flag = mode is BrokerMode.MIGRATION
    return with_node(seen, replace(node, running=True, mode=mode, flag=flag, stale=False))


def _mend(seen: Observation, step: MendMetaProperties) -> Iterator[Observation]:
    seen = _stopped(seen, seen.brokers[step.node])
    yield seen
    node = seen.brokers[step.node]
    meta = tuple(
        replace(each, version=0) if each.directory == step.directory else each for each in node.meta
    )
    yield with_node(seen, replace(node, meta=meta))


def _registered(seen: Observation, node: NodeSeen) -> Observation:
    """Return what is seen once a broker that runs has joined its cluster."""
    mode = file_mode(node)
    if mode is not BrokerMode.KRAFT and seen.zookeeper is not None:
        brokers = seen.zookeeper.brokers | {node.id}
        seen = replace(seen, zookeeper=replace(seen.zookeeper, brokers=brokers))
        seen = broker_elected(seen)
    if mode is BrokerMode.ZOOKEEPER:
        return seen
    migrating = mode is BrokerMode.MIGRATION
    known = BrokerRegistration(id=node.id, epoch=1, migrating=migrating, fenced=False)
    return with_log(seen, broker=known)


def _all_registered(seen: Observation) -> Observation:
    for node in seen.brokers.values():
        if node.running:
            answering = replace(node, mode=node.mode or file_mode(node))
            seen = _registered(with_node(seen, answering), answering)
    return seen


def _compared(seen: Observation) -> Observation:
    epoch = seen.zookeeper.controller_epoch if seen.zookeeper else None
    probed = seen.quorum.epoch if seen.quorum else epoch[0] if epoch else None
    since = seen.proven.equal_since if seen.proven.equal_since is not None else seen.at
    proven = replace(seen.proven, probed=probed, equal_since=since)
    return replace(seen, proven=proven, comparison=EQUAL if seen.log else None)


def _written(
    seen: Observation, step: RaiseControllerEpoch | RaisePartitionVersions | ReleaseZooKeeper
) -> Observation:
    zookeeper = seen.zookeeper
    if zookeeper is None:
        return seen
    if isinstance(step, RaisePartitionVersions):
        return with_versions(seen, lower_versions(seen))
    if isinstance(step, RaiseControllerEpoch):
        raised = (step.to, step.version + 1)
        return replace(seen, zookeeper=replace(zookeeper, controller_epoch=raised))
    controller = zookeeper.controller if step.controller is None else None
    released = replace(zookeeper, migration=None, controller=controller)
    return broker_elected(replace(seen, zookeeper=released))
