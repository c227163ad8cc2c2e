"""What no step of a migration may do, whatever was seen before it: for tests of planners."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.kraft.facts.nodes import in_mode
from towpath.kraft.facts.nouns import Alarm, BrokerMode, LogState
from towpath.kraft.facts.seen import Observation
from towpath.kraft.standing.alarms import anchor, claimed
from towpath.kraft.standing.partition_versions import lower_versions
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.await_final import AwaitFinal
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.mend_meta_properties import MendMetaProperties
from towpath.kraft.steps.raise_controller_epoch import RaiseControllerEpoch
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.kraft.steps.wipe_controller import WipeController

_FINAL = RollBroker | RestartController | StartControllers | AwaitHealthy | AwaitFinal


def broken(seen: Observation, step: KraftStep) -> tuple[str, ...]:
    """Return the laws that a step would break."""
    laws = [*_two_down(seen, step)]
    state = seen.log.state if seen.log else None
    anew = isinstance(step, FormatController) and step.anew
    if state is LogState.POST_MIGRATION and not (anew or isinstance(step, _FINAL)):
        laws.append("nothing leads back from the end")
    match step:
        case RollBroker():
            laws += _roll(seen, step)
        case RestartController():
            laws += _restart(seen, step)
        case StopControllers():
            laws += _stop(seen)
        case ReleaseZooKeeper():
            laws += _release(seen, step)
        case RaiseControllerEpoch() if _running(seen):
            laws.append("the epoch is raised while controllers run")
        case WipeController():
            laws += _wipe(seen, step)
        case FormatController():
            laws += _format(seen, step)
        case _:
            pass
    return tuple(laws)


def _running(seen: Observation) -> bool:
    return any(each.running for each in seen.controllers.values())


def _two_down(seen: Observation, step: KraftStep) -> Iterator[str]:
    if isinstance(step, RollBroker | MendMetaProperties) and seen.brokers[step.node].running:
        others = [each.running for each in seen.brokers.values() if each.id != step.node]
        if not all(others):
            yield "two brokers are down at once"
    led = seen.quorum is not None
    if led and isinstance(step, RestartController) and seen.controllers[step.node].running:
        nodes = (each for each in seen.controllers.values() if each.id != step.node)
        # A rollback goes on without one whose disk is lost.
        if not all(each.running or not each.meta for each in nodes):
            yield "two controllers are down at once"


def _roll(seen: Observation, step: RollBroker) -> Iterator[str]:
    state = seen.log.state if seen.log else None
    if claimed(seen) and seen.quorum is None and state is not LogState.POST_MIGRATION:
        yield "a broker is stopped while /controller names a dead controller"
    if step.mode is BrokerMode.KRAFT and state not in {
        LogState.MIGRATION,
        LogState.POST_MIGRATION,
    }:
        yield "a broker goes to KRaft mode before the copy"
    if step.mode is not BrokerMode.KRAFT and state is LogState.POST_MIGRATION:
        yield "a broker leaves KRaft mode behind the end"
    if step.mode is BrokerMode.ZOOKEEPER:
        if claimed(seen) or anchor(seen) is not None or _running(seen):
            yield "a broker goes to ZooKeeper mode before the release"
        if any(each.version for each in seen.brokers[step.node].meta):
            yield "a broker with a new meta.properties goes to ZooKeeper mode"


def _restart(seen: Observation, step: RestartController) -> Iterator[str]:
    if step.flag:
        return
    registered = seen.log.brokers.values() if seen.log else ()
    others = {*in_mode(seen, BrokerMode.ZOOKEEPER), *in_mode(seen, BrokerMode.MIGRATION)}
    if others or any(each.migrating for each in registered):
        yield "a cluster is finalized with a migrating broker"
    if not seen.log or seen.log.state not in {LogState.MIGRATION, LogState.POST_MIGRATION}:
        yield "a cluster is finalized before the copy"


def _stop(seen: Observation) -> Iterator[str]:
    if in_mode(seen, BrokerMode.KRAFT):
        yield "the controllers are stopped under brokers in KRaft mode"
    migrated = seen.log is not None and seen.log.state is LogState.MIGRATION
    if migrated and not (seen.comparison and seen.comparison.equal):
        yield "the controllers are stopped before both stores are equal"
    if migrated and lower_versions(seen):
        yield "the controllers are stopped while leaders know higher versions than ZooKeeper"
    if migrated and not all(each.running for each in seen.brokers.values()):
        yield "the controllers are stopped while a broker is down"


def _release(seen: Observation, step: ReleaseZooKeeper) -> Iterator[str]:
    zookeeper, znode = seen.zookeeper, anchor(seen)
    if zookeeper is None or _running(seen):
        yield "ZooKeeper is released while controllers run"
        return
    if znode is not None and step.migration is None:
        yield "/migration stays"
    if not claimed(seen) or zookeeper.controller is None or zookeeper.controller_epoch is None:
        return
    if step.controller is None:
        yield "/controller stays"
    if zookeeper.controller_epoch[0] <= zookeeper.controller.kraft_epoch:
        yield "the epoch is too low"
    written = znode is None or znode.offset >= 0
    proven = seen.proven.stopped == zookeeper.controller.kraft_epoch
    if written and not proven and not stage_of(seen).has(Alarm.WIPE_AHEAD):
        yield "ZooKeeper is released without being proven equal"


def _wipe(seen: Observation, step: WipeController) -> Iterator[str]:
    if seen.controllers[step.node].running or claimed(seen) or anchor(seen) is not None:
        yield "a controller is wiped that is still needed"
    if in_mode(seen, BrokerMode.MIGRATION) or in_mode(seen, BrokerMode.KRAFT):
        yield "a controller is wiped before all brokers are back"


def _format(seen: Observation, step: FormatController) -> Iterator[str]:
    node, znode = seen.controllers[step.node], anchor(seen)
    if node.meta or node.running:
        yield "a controller is formatted again"
    if step.anew:
        led, need = seen.quorum is not None, len(seen.controllers) // 2
        whole = [each for each in seen.controllers.values() if each.running and each.meta]
        if not led or len(whole) <= need:
            yield "a controller is formatted anew without a majority that leads"
    elif claimed(seen) or (znode is not None and znode.offset >= 0):
        yield "a controller is formatted in a migration"
