"""Steps on brokers: restarts in another mode, and the form of their `meta.properties`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath

from towpath.kraft.do.stale_leaders import IsrWatch
from towpath.kraft.do.tools import StepFacts, Tools, properties_of, since
from towpath.kraft.do.waiting import Left, not_gone, not_serving, unchanged
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nodes import is_settled, serves
from towpath.kraft.facts.nouns import Alarm, BrokerMode, NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.facts.surroundings import Reach
from towpath.kraft.files.properties import change_properties, read_properties
from towpath.kraft.files.stored import META, METADATA_LOG, metadata_dir
from towpath.kraft.look.hosts import ask_host
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.kinds import MendMetaProperties, RollBroker


def roll_broker(tools: Tools, step: RollBroker) -> StepFacts:
    """Restart a broker in a mode, and wait until it serves and is in sync.

    While others are stranded it cannot come in sync, which is not waited for. One that runs in that
    mode with that file already is only waited for.

    Raises:
        StepLateError: It did not serve, or was not in sync, in time.
        StepStoppedError: The user asked to end while it was waited for.
        NodeEndedError: It ended as it started.
        StepRefusedError: Its properties cannot be made, or its host does not reach the controllers.
        DriverError: Its host refused, or somebody else keeps its properties.
    """
    node, mode, seen = step.node, step.mode, tools.waits.now()
    current = _of(seen, node)
    wanted = properties_of(tools, seen, step)
    facts: StepFacts = {}
    epoch: int | None = None
    there = seen.brokers[node]
    if dict(current) != dict(wanted) or there.mode is not mode or not is_settled(there):
        epoch = _epoch(seen, node)
        if there.mode is BrokerMode.ZOOKEEPER and mode is BrokerMode.MIGRATION:
            _require_ways(tools, seen, node)
        tools.drivers[node].require_ours(tools.path(node))
        tools.write(node, wanted)  # before the stop: a full disk leaves it running as it was
        facts = tools.stop(node)
        _forgotten(tools, node, mode)
        if mode is BrokerMode.ZOOKEEPER:
            _remove_metadata_log(tools, node, wanted)
        tools.drivers[node].start()
    left = (lambda: f"broker {node} was restarted in {mode} mode") if facts else unchanged
    return {**facts, **_joined(tools, step, epoch, left)}


def _require_ways(tools: Tools, seen: Observation, node: NodeId) -> None:
    """Look whether a broker's host reaches the controllers that run, before it is restarted.

    Raises:
        StepRefusedError: It does not, so the broker could not register. A host that does not tell
            what it reaches is taken as one that does.
    """
    running = [
        each.address
        for each in tools.config.controllers.nodes
        if (there := seen.controllers.get(NodeId(each.id))) is not None and there.running
    ]
    told = ask_host(tools.drivers[node], running)
    reach = told.reach if told is not None else {}
    bad = {at: reach[at] for at in running if reach.get(at, Reach.OPEN) is not Reach.OPEN}
    if bad:
        named = ", ".join(f"{at} ({found})" for at, found in bad.items())
        why = f"the host of broker {node} does not reach the controllers {named}"
        raise StepRefusedError("RollBroker", why)


def mend_meta_properties(tools: Tools, step: MendMetaProperties) -> StepFacts:
    """Stop a broker, and give one of its log directories the form that ZooKeeper mode reads."""
    node = step.node
    driver, path = tools.drivers[node], str(PurePosixPath(step.directory) / META)
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


def await_healthy(tools: Tools) -> StepFacts:
    """Wait until every broker that runs serves, and all replicas are in sync."""
    began = time.monotonic()
    seen = tools.waits.now()
    running = [each.id for each in seen.brokers.values() if each.running]
    tools.waits.until("all brokers that run serve", "start", _not_all_serving, running)
    watch = IsrWatch(tools.config.cluster, tools.waits.tell)
    tools.waits.until("all replicas are in sync", "in_sync", watch.missing, running, watch.left)
    return {"seconds": since(began), "new_leader_epochs": watch.renewed}


def _not_all_serving(seen: Observation) -> str | None:
    idle = [
        str(each.id) for each in seen.brokers.values() if each.running and not serves(seen, each.id)
    ]
    return f"broker {', '.join(sorted(idle))} does not serve yet" if idle else None


def _of(seen: Observation, node: NodeId) -> dict[str, str]:
    there = seen.brokers.get(node)
    if there is None or not there.properties:
        raise StepRefusedError("RollBroker", f"the files of broker {node} could not be read")
    return dict(there.properties)


def _epoch(seen: Observation, node: NodeId) -> int | None:
    registered = seen.log.brokers.get(node) if seen.log else None
    return registered.epoch if registered is not None else None


def _forgotten(tools: Tools, node: NodeId, mode: BrokerMode) -> None:
    """Wait until ZooKeeper has ended the session: else a broker ends as it starts (NodeExists).

    After a kill that takes the whole session timeout. In KRaft mode no broker has a session, and
    behind a finalize ZooKeeper may be gone.
    """
    if mode is BrokerMode.KRAFT and tools.waits.now().zookeeper is None:
        return
    what = f"ZooKeeper has ended the session of broker {node}"
    tools.waits.until(what, "start", lambda seen: not_gone(seen, node), left=None)


def _remove_metadata_log(tools: Tools, node: NodeId, wanted: Mapping[str, str]) -> None:
    """Remove the copy of the metadata log that other modes leave.

    In a later KRaft mode it would not fit to the log of controllers that were formatted anew.
    """
    tools.drivers[node].remove(str(PurePosixPath(metadata_dir(wanted)) / METADATA_LOG))


def _joined(tools: Tools, step: RollBroker, epoch: int | None, left: Left) -> StepFacts:
    node, mode, began = step.node, step.mode, time.monotonic()
    what = f"broker {node} serves in {mode} mode"
    missing = partial(not_serving, node=node, mode=mode, epoch=epoch)
    now = tools.waits.until(what, "start", missing, [node], left)
    started, again = since(began), time.monotonic()
    if stage_of(now).has(Alarm.STRANDED):
        # No metadata reaches the others before they are restarted, too: those that should lead by
        # the log do not know, so nobody comes in sync with them.
        return {"start_seconds": started}
    what = f"broker {node} is in sync"
    watch = IsrWatch(tools.config.cluster, tools.waits.tell, node)
    tools.waits.until(what, "in_sync", watch.missing, [node], left)
    return {
        "start_seconds": started,
        "in_sync_seconds": since(again),
        "new_leader_epochs": watch.renewed,
    }
