"""What each step does to an observation, one effect after another: the model behind outlines. Pure.

A step may be cut off behind any effect. Where a model must guess, it takes what happens in a
cluster without faults: who is elected is the running voter with the lowest id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from towpath.config.kraft import KraftConfig
from towpath.kraft.alarms import anchor, claimed
from towpath.kraft.configs import Properties
from towpath.kraft.file_changes import rendered
from towpath.kraft.image import ClusterImage, ImageComparison
from towpath.kraft.model import BrokerMode, LogState, NodeId, Role
from towpath.kraft.moves import Refused
from towpath.kraft.nodes import file_mode, has_flag
from towpath.kraft.seen import (
    BrokerRegistration,
    ControllerZnode,
    Health,
    MetadataLogSeen,
    MetaProperties,
    MigrationZnode,
    NodeSeen,
    Observation,
    QuorumSeen,
)
from towpath.kraft.steps import (
    AwaitCopy,
    AwaitFinal,
    AwaitHealthy,
    Compare,
    FormatController,
    MendMetaProperties,
    RaiseControllerEpoch,
    ReleaseZooKeeper,
    RestartController,
    RollBroker,
    StartControllers,
    Step,
    StopControllers,
    WipeController,
)

_EQUAL = ImageComparison({}, {}, ())


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
        case RaiseControllerEpoch() | ReleaseZooKeeper():
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
            return _with_log(seen, state=LogState.POST_MIGRATION)


def by_itself(seen: Observation) -> Observation:
    """Return what follows without any step: registered brokers let the copy begin."""
    log, quorum, zookeeper = seen.log, seen.quorum, seen.zookeeper
    if log is None or quorum is None or zookeeper is None:
        return seen
    if log.state is not LogState.PRE_MIGRATION or not _may_copy(seen, log):
        return seen
    epoch = zookeeper.controller_epoch or (0, 0)
    copied = replace(
        zookeeper,
        controller=ControllerZnode(
            id=quorum.leader, kraft_epoch=quorum.epoch, ephemeral=False, version=0
        ),
        controller_epoch=(epoch[0] + 1, epoch[1] + 1),
        migration=_anchored(quorum, log.end),
    )
    seen = replace(seen, zookeeper=copied, comparison=_EQUAL)
    return _with_log(seen, state=LogState.MIGRATION)


def _anchored(quorum: QuorumSeen, end: int) -> MigrationZnode:
    return MigrationZnode(
        controller=quorum.leader,
        controller_epoch=quorum.epoch,
        offset=end,
        offset_epoch=quorum.epoch,
        version=1,
    )


def _may_copy(seen: Observation, log: MetadataLogSeen) -> bool:
    """Whether the controllers would begin the copy: all nodes are ready and registered."""
    znode = anchor(seen)
    joined = {each.id for each in log.brokers.values() if each.migrating and not each.fenced}
    ready = all(each.flag for each in seen.controllers.values())
    return ready and joined >= set(seen.brokers) and znode is not None and znode.offset < 0


def _with_log(
    seen: Observation,
    *,
    state: LogState | None = None,
    broker: BrokerRegistration | None = None,
) -> Observation:
    log = seen.log
    if log is None:
        return seen
    brokers = {**log.brokers, broker.id: broker} if broker else log.brokers
    return replace(
        seen, log=replace(log, state=log.state if state is None else state, brokers=brokers)
    )


def _node(seen: Observation, node: NodeSeen) -> Observation:
    if node.role is Role.BROKER:
        return replace(seen, brokers={**seen.brokers, node.id: node})
    return replace(seen, controllers={**seen.controllers, node.id: node})


def _stored(
    seen: Observation, step: FormatController | WipeController, file: Properties
) -> Observation:
    node = seen.controllers[step.node]
    if isinstance(step, WipeController):
        return _node(seen, replace(node, meta=()))
    cluster = seen.zookeeper.cluster_id if seen.zookeeper else ""
    meta = MetaProperties(
        directory="", version=1, cluster_id=cluster, node=node.id, directory_id=None
    )
    return _node(seen, replace(node, meta=(meta,), properties=file))


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
    seen = _node(seen, replace(node, running=False, mode=None, flag=None, stale=False))
    if node.role is Role.CONTROLLER:
        return _elected(seen)
    if seen.zookeeper is not None:
        brokers = seen.zookeeper.brokers - {node.id}
        seen = replace(seen, zookeeper=replace(seen.zookeeper, brokers=brokers))
        seen = _broker_elected(seen)
    known = seen.log.brokers.get(node.id) if seen.log else None
    return seen if known is None else _with_log(seen, broker=replace(known, fenced=True))


def _broker_elected(seen: Observation) -> Observation:
    """Return what is seen once a broker has become ZooKeeper's controller, if none is."""
    zookeeper = seen.zookeeper
    if zookeeper is None or claimed(seen):
        return seen
    there = zookeeper.controller
    if there is not None and there.id in zookeeper.brokers:
        return seen
    epoch = zookeeper.controller_epoch or (0, 0)
    if not zookeeper.brokers:
        return replace(seen, zookeeper=replace(zookeeper, controller=None))
    elected = ControllerZnode(id=min(zookeeper.brokers), kraft_epoch=-1, ephemeral=True, version=0)
    raised = (epoch[0] + 1, epoch[1] + 1)
    return replace(seen, zookeeper=replace(zookeeper, controller=elected, controller_epoch=raised))


def _elected(seen: Observation) -> Observation:
    """Return what is seen once the controllers that run have a leader, or lack the majority."""
    running = [each for each in seen.controllers.values() if each.running]
    if 2 * len(running) <= len(seen.controllers):
        return replace(seen, quorum=None, log=None, comparison=None)
    quorum = seen.quorum
    if quorum is not None and seen.controllers[quorum.leader].running:
        return seen
    leader = min(running, key=lambda each: each.id)
    epoch = _epoch(seen) + 1
    seen = replace(
        seen,
        quorum=QuorumSeen(
            leader=leader.id,
            epoch=epoch,
            high_watermark=seen.log.end if seen.log else 1,
            voters=tuple(sorted(seen.controllers)),
        ),
        log=seen.log or _assumed(seen),
        comparison=_EQUAL,
    )
    return _led(seen, leader, epoch)


def _epoch(seen: Observation) -> int:
    controller = seen.zookeeper.controller if seen.zookeeper else None
    return max(seen.quorum.epoch if seen.quorum else 0, controller.kraft_epoch if controller else 0)


def _led(seen: Observation, leader: NodeSeen, epoch: int) -> Observation:
    """Return what a newly elected leader writes."""
    log, zookeeper = seen.log, seen.zookeeper
    if log is None or log.state is LogState.POST_MIGRATION:
        return seen
    if not leader.flag:
        bad = LogState.POST_MIGRATION if log.state is LogState.MIGRATION else LogState.NONE
        return _with_log(seen, state=bad)
    if zookeeper is None:
        return seen
    if log.state is LogState.PRE_MIGRATION:
        migration = zookeeper.migration or MigrationZnode()
        return replace(seen, zookeeper=replace(zookeeper, migration=migration))
    version = zookeeper.controller.version + 1 if zookeeper.controller else 0
    taken = ControllerZnode(id=leader.id, kraft_epoch=epoch, ephemeral=False, version=version)
    return replace(seen, zookeeper=replace(zookeeper, controller=taken))


def _assumed(seen: Observation) -> MetadataLogSeen:
    """Return the log of controllers that did not answer, as far as ZooKeeper and nodes tell."""
    znode = anchor(seen)
    began = claimed(seen) and znode is not None and znode.offset >= 0
    brokers = {
        each.id: BrokerRegistration(
            id=each.id,
            epoch=1,
            migrating=file_mode(each) is not BrokerMode.KRAFT,
            fenced=not each.running,
        )
        for each in seen.brokers.values()
        if file_mode(each) is not BrokerMode.ZOOKEEPER
    }
    return MetadataLogSeen(
        state=LogState.MIGRATION if began else LogState.PRE_MIGRATION,
        copying=False,
        copied=None,
        end=1 + max(znode.offset if znode else 0, 0),
        features={},
        brokers=brokers,
        ready={},
        image=seen.zookeeper.image if seen.zookeeper else ClusterImage(),
    )


def _started(seen: Observation, node: NodeId) -> Observation:
    controller = seen.controllers[node]
    flag = has_flag(controller.properties)
    return _node(seen, replace(controller, running=True, flag=flag, stale=False))


def _start_controllers(seen: Observation, nodes: tuple[NodeId, ...]) -> Iterator[Observation]:
    proven = replace(seen.proven, stopped=None)
    seen = replace(seen, proven=proven)
    for node in nodes:
        if not seen.controllers[node].running:
            seen = _started(seen, node)
            yield seen
    yield _elected(seen)


def _stop_controllers(seen: Observation, nodes: tuple[NodeId, ...]) -> Iterator[Observation]:
    controller = seen.zookeeper.controller if seen.zookeeper else None
    equal = seen.comparison is not None and seen.comparison.equal
    if equal and controller is not None:
        proven = replace(seen.proven, stopped=controller.kraft_epoch)
        seen = replace(seen, proven=proven)
    for node in nodes:
        seen = _stopped(seen, seen.controllers[node])
        yield seen


def _restart(seen: Observation, step: RestartController, file: Properties) -> Iterator[Observation]:
    node = seen.controllers[step.node]
    node = replace(node, properties=file, stale=node.running)
    seen = _node(replace(seen, proven=replace(seen.proven, stopped=None)), node)
    yield seen
    seen = _stopped(seen, node)
    yield seen
    seen = _started(seen, step.node)
    yield seen
    yield _elected(seen)


def _roll(seen: Observation, step: RollBroker, file: Properties) -> Iterator[Observation]:
    node = seen.brokers[step.node]
    written = replace(node, properties=file, stale=node.running)
    seen = _node(seen, written)
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
    return _node(seen, replace(node, running=True, mode=mode, flag=flag, stale=False))


def _mend(seen: Observation, step: MendMetaProperties) -> Iterator[Observation]:
    seen = _stopped(seen, seen.brokers[step.node])
    yield seen
    node = seen.brokers[step.node]
    meta = tuple(
        replace(each, version=0) if each.directory == step.directory else each for each in node.meta
    )
    yield _node(seen, replace(node, meta=meta))


def _registered(seen: Observation, node: NodeSeen) -> Observation:
    """Return what is seen once a broker that runs has joined its cluster."""
    mode = file_mode(node)
    if mode is not BrokerMode.KRAFT and seen.zookeeper is not None:
        brokers = seen.zookeeper.brokers | {node.id}
        seen = replace(seen, zookeeper=replace(seen.zookeeper, brokers=brokers))
        seen = _broker_elected(seen)
    if mode is BrokerMode.ZOOKEEPER:
        return seen
    migrating = mode is BrokerMode.MIGRATION
    known = BrokerRegistration(id=node.id, epoch=1, migrating=migrating, fenced=False)
    return _with_log(seen, broker=known)


def _all_registered(seen: Observation) -> Observation:
    for node in seen.brokers.values():
        if node.running:
            answering = replace(node, mode=node.mode or file_mode(node))
            seen = _registered(_node(seen, answering), answering)
    return seen


def _compared(seen: Observation) -> Observation:
    epoch = seen.zookeeper.controller_epoch if seen.zookeeper else None
    probed = seen.quorum.epoch if seen.quorum else epoch[0] if epoch else None
    since = seen.proven.equal_since if seen.proven.equal_since is not None else seen.at
    proven = replace(seen.proven, probed=probed, equal_since=since)
    return replace(seen, proven=proven, comparison=_EQUAL if seen.log else None)


def _written(seen: Observation, step: RaiseControllerEpoch | ReleaseZooKeeper) -> Observation:
    zookeeper = seen.zookeeper
    if zookeeper is None:
        return seen
    if isinstance(step, RaiseControllerEpoch):
        raised = (step.to, step.version + 1)
        return replace(seen, zookeeper=replace(zookeeper, controller_epoch=raised))
    controller = zookeeper.controller if step.controller is None else None
    released = replace(zookeeper, migration=None, controller=controller)
    return _broker_elected(replace(seen, zookeeper=released))
