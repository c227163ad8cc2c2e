"""A model of elections and of the copy, which a cluster does by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from towpath.kraft.facts.image import ClusterImage, ImageComparison
from towpath.kraft.facts.nodes import file_mode
from towpath.kraft.facts.nouns import BrokerMode, LogState, NodeId, Role
from towpath.kraft.facts.seen import (
    BrokerRegistration,
    ControllerZnode,
    MetadataLogSeen,
    MigrationZnode,
    NodeSeen,
    Observation,
    QuorumSeen,
    has_flag,
)
from towpath.kraft.standing.alarms import anchor, claimed

EQUAL = ImageComparison({}, {}, ())
"""What two equal stores are compared to, without the numbers and digests of a look."""


def by_itself(seen: Observation) -> Observation:
    """Return the observation after a copy that begins by itself, else the same one."""
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
    seen = replace(seen, zookeeper=copied, comparison=EQUAL)
    return with_log(seen, state=LogState.MIGRATION)


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


def with_log(
    seen: Observation,
    *,
    state: LogState | None = None,
    broker: BrokerRegistration | None = None,
) -> Observation:
    """Return an observation with another state, or another broker, in the metadata log."""
    log = seen.log
    if log is None:
        return seen
    brokers = {**log.brokers, broker.id: broker} if broker else log.brokers
    return replace(
        seen, log=replace(log, state=log.state if state is None else state, brokers=brokers)
    )


def with_node(seen: Observation, node: NodeSeen) -> Observation:
    """Return an observation with a replaced node."""
    if node.role is Role.BROKER:
        return replace(seen, brokers={**seen.brokers, node.id: node})
    return replace(seen, controllers={**seen.controllers, node.id: node})


def broker_elected(seen: Observation) -> Observation:
    """Return the observation after a broker's election as ZooKeeper's controller."""
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


def elected(seen: Observation) -> Observation:
    """Return the observation after an election among the running controllers."""
    running = [each for each in seen.controllers.values() if each.running]
    if 2 * len(running) <= len(seen.controllers):
        return replace(seen, quorum=None, log=None, comparison=None)
    quorum = seen.quorum
    if quorum is not None and seen.controllers[quorum.leader].running:
        return replace(seen, quorum=replace(quorum, ends=_ends(seen, quorum.high_watermark)))
    running = [_answering(each) for each in running]
    for each in running:
        seen = with_node(seen, each)
    leader = min(running, key=lambda each: each.id)
    epoch = _epoch(seen) + 1
    seen = replace(
        seen,
        quorum=QuorumSeen(
            leader=leader.id,
            epoch=epoch,
            high_watermark=seen.log.end if seen.log else 1,
            voters=tuple(sorted(seen.controllers)),
            ends=_ends(seen, seen.log.end if seen.log else 1),
        ),
        log=seen.log or _assumed(seen),
        comparison=EQUAL,
    )
    return _led(seen, leader, epoch)


def _ends(seen: Observation, end: int) -> Mapping[NodeId, int]:
    return {each.id: end for each in seen.controllers.values() if each.running}


def _answering(controller: NodeSeen) -> NodeSeen:
    """Return a controller that runs once it answers: one that still starts tells no flag."""
    flag = controller.flag
    return replace(controller, flag=has_flag(controller.properties) if flag is None else flag)


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
        return with_log(seen, state=bad)
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


def written(seen: Observation) -> Observation:
    """Return the observation after the leader has written its whole log to ZooKeeper."""
    zookeeper, log, quorum = seen.zookeeper, seen.log, seen.quorum
    if zookeeper is None or zookeeper.migration is None or log is None or quorum is None:
        return seen
    znode = replace(zookeeper.migration, offset=log.end, offset_epoch=quorum.epoch)
    return replace(seen, zookeeper=replace(zookeeper, migration=znode))
