"""Steps on controllers: formatted, started, restarted with another flag, stopped, wiped."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from towpath.kraft.config.file import KraftController
from towpath.kraft.do.tools import StepFacts, Tools, properties_of, since
from towpath.kraft.do.waiting import Left, unchanged
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation, has_flag
from towpath.kraft.files.stored import CONTROLLER_FILES, META, METADATA_LOG
from towpath.kraft.findings.findings import several
from towpath.kraft.reach.commands import format_command
from towpath.kraft.reach.driver import Driver
from towpath.kraft.standing.alarms import may_lead_empty, quotas_left, without_log
from towpath.kraft.standing.disks import unproven
from towpath.kraft.steps.kinds import (
    FormatController,
    RestartController,
    StartControllers,
    StopControllers,
    WipeController,
)
from towpath.model.deadline import Deadline

_FILE_KEYS = ("keystore.location", "truststore.location")


def format_controller(tools: Tools, step: FormatController) -> StepFacts:
    """Write a controller's properties and format its folder, unless that was done.

    Raises:
        StepRefusedError: The folder belongs to another cluster or node, or holds a metadata log; or
            files that the properties name, such as keys, are not on its host; or its disk was lost,
            and the others are not seen to hold all that is committed.
        DriverError: The command failed.
    """
    node, began = step.node, time.monotonic()
    driver, at = tools.drivers[node], _of(tools, node)
    stopped = _stop_lost(tools, step) if step.anew else {}
    seen = tools.waits.now()
    if driver.started() is not None:
        raise StepRefusedError("FormatController", f"controller {node} runs")
    wanted = properties_of(tools, seen, step)
    cluster = _cluster_id(seen)
    if not cluster:
        raise StepRefusedError("FormatController", "the cluster's id was not seen")
    _require_own(seen, step)
    if step.anew:
        _require_holders(seen, node)
    tools.write(node, wanted, whole=True)
    _require_files(driver, node, wanted)
    if driver.modified(_inside(at.data, META)) is not None:
        return {**stopped, "seconds": since(began)}
    if driver.modified(_inside(at.data, METADATA_LOG)) is not None:
        why = f"{at.data} of controller {node} holds a metadata log without {META}"
        raise StepRefusedError("FormatController", f"{why}; look whose it is, and move it away")
    driver.run(
        format_command(tools.config, at, cluster, seen), Deadline.after(tools.config.limits.start)
    )
    return {**stopped, "seconds": since(began)}


def _stop_lost(tools: Tools, step: FormatController) -> StepFacts:
    """Stop a controller that still runs though its folder is gone."""
    driver, at = tools.drivers[step.node], _of(tools, step.node)
    if driver.started() is None or driver.modified(_inside(at.data, META)) is not None:
        return {}
    _require_holders(tools.waits.now(), step.node)
    return tools.stop(step.node)


def _require_holders(seen: Observation, node: NodeId) -> None:
    """Raise where a controller must not begin with an empty log; see `planning.disks`."""
    if (gate := unproven(seen, node)) is not None:
        raise StepRefusedError("FormatController", str(gate))


def _cluster_id(seen: Observation) -> str:
    """Return the id of the cluster; behind the end ZooKeeper is gone, and other controllers tell.

    Before the copy nobody but ZooKeeper does.
    """
    if seen.zookeeper is not None:
        return seen.zookeeper.cluster_id
    told = {meta.cluster_id for each in seen.controllers.values() for meta in each.meta}
    return told.pop() if seen.log is not None and len(told) == 1 else ""


def _require_files(driver: Driver, node: NodeId, wanted: Mapping[str, str]) -> None:
    """Raise where keys that the properties name are missing: most come from brokers' files."""
    named = {key: path for key, path in wanted.items() if key.endswith(_FILE_KEYS)}
    missing = [
        f"{path} ({key})"
        for key, path in sorted(named.items())
        if path.startswith("/") and driver.modified(path) is None
    ]
    if missing:
        why = f"the host of controller {node} lacks files: {', '.join(missing)}; copy them there"
        advice = "or name others in `controllers.properties`"
        raise StepRefusedError("FormatController", f"{why}, {advice}")


def start_controllers(tools: Tools, step: StartControllers) -> StepFacts:
    """Start controllers, and wait until they are in their quorum: one alone is not ready.

    Raises:
        StepRefusedError: They would empty ZooKeeper.
    """
    began, before = time.monotonic(), tools.waits.now()
    _require_logs(before)
    for node in step.nodes:
        tools.drivers[node].start()
    named = ", ".join(map(str, step.nodes))
    left = f"controllers {named} were started"
    _await_quorum(tools, step.nodes, lambda: left)
    empty = [node for node in step.nodes if before.controllers[node].epochs == ()]
    if before.quorum is not None and empty:
        _await_log(tools, empty, lambda: left)
    return {"start_seconds": since(began)}


def _await_log(tools: Tools, nodes: Iterable[NodeId], left: Left) -> None:
    """Wait until controllers that began without a log hold what was committed as this began."""
    nodes = tuple(nodes)
    wanted: int | None = None

    def missing(seen: Observation) -> str | None:
        nonlocal wanted
        if seen.quorum is None:
            return "nobody leads"
        wanted = seen.quorum.high_watermark if wanted is None else wanted
        ends = {node: seen.quorum.ends.get(node, -1) for node in nodes}
        for node, end in ends.items():
            if end < wanted or seen.controllers[node].epochs == ():
                return f"controller {node} has {max(end, 0)} of {wanted} records"
        return None

    named = ", ".join(map(str, nodes))
    tools.waits.until(f"controller {named} has got the log", "in_sync", missing, nodes, left)


def _require_logs(seen: Observation) -> None:
    """Raise where controllers were formatted anew since the step was planned."""
    if may_lead_empty(seen):
        lost = ", ".join(map(str, without_log(seen)))
        why = f"controllers {lost} lack the metadata log of which `/migration` tells"
        raise StepRefusedError("StartControllers", f"{why}, and would empty ZooKeeper")


def restart_controller(tools: Tools, step: RestartController) -> StepFacts:
    """Restart a controller with or without the flag, unless it runs so, and wait for it.

    One that is restarted so that the next leader writes ZooKeeper is restarted if it leads still:
    the wait is not over before ZooKeeper has lost what the log has not.
    """
    node, seen = step.node, tools.waits.now()
    wanted = properties_of(tools, seen, step)
    there, facts = seen.controllers.get(node), dict[str, object]()
    runs = there is not None and there.running and not there.stale and there.flag is step.flag
    still = step.rewrite and bool(quotas_left(seen))
    if there is None or not runs or still or dict(there.properties) != dict(wanted):
        tools.write(node, wanted, whole=True)
        facts |= tools.stop(node)
        tools.drivers[node].start()
    began, flag = time.monotonic(), "with" if step.flag else "without"
    left = f"controller {node} was restarted {flag} the migration's flag" if facts else unchanged()
    _await_quorum(tools, [node], lambda: left)
    if step.rewrite:
        what = "the next leader has written to ZooKeeper what differs"
        tools.waits.until(what, "copy", _not_rewritten, [node], lambda: left)
    return {**facts, "start_seconds": since(began)}


def _not_rewritten(seen: Observation) -> str | None:
    left = quotas_left(seen)
    return f"ZooKeeper still has the quotas of {several(left)}" if left else None


def stop_controllers(tools: Tools, step: StopControllers) -> StepFacts:
    """Stop controllers, in the order that the step names."""
    return {str(node): dict(tools.stop(node)) for node in step.nodes}


def wipe_controller(tools: Tools, step: WipeController) -> StepFacts:
    """Remove what a stopped controller has stored; what else is in its folder stays there."""
    node, at = step.node, _of(tools, step.node)
    driver = tools.drivers[node]
    if driver.started() is not None:
        raise StepRefusedError("WipeController", f"controller {node} runs")
    _require_own(tools.waits.now(), step)
    for name in CONTROLLER_FILES:
        driver.remove(_inside(at.data, name))
    return {}


def _require_own(seen: Observation, step: FormatController | WipeController) -> None:
    """Raise where a controller's folder is that of another node, or of another cluster."""
    cluster = _cluster_id(seen)
    there = seen.controllers.get(step.node)
    for meta in there.meta if there is not None else ():
        if (meta.cluster_id, meta.node) != (cluster, step.node):
            whose = f"node {meta.node} of cluster {meta.cluster_id}"
            why = f"{meta.directory} of controller {step.node} belongs to {whose}"
            raise StepRefusedError(type(step).__name__, why)


def _of(tools: Tools, node: NodeId) -> KraftController:
    return next(each for each in tools.config.controllers.nodes if NodeId(each.id) == node)


def _inside(folder: str, name: str) -> str:
    return str(PurePosixPath(folder) / name)


def _await_quorum(tools: Tools, nodes: Iterable[NodeId], left: Left) -> None:
    nodes = tuple(nodes)
    named = ", ".join(map(str, nodes))
    tools.waits.until(
        f"controller {named} answers and is registered in its quorum",
        "start",
        lambda seen: _not_in_quorum(seen, nodes),
        nodes,
        left,
    )


def _not_in_quorum(seen: Observation, nodes: Iterable[NodeId]) -> str | None:
    for node in nodes:
        there = seen.controllers.get(node)
        if there is None or there.flag is None:
            return f"controller {node} does not answer yet"
        if there.stale or there.flag is not has_flag(there.properties):
            return f"controller {node} still answers with another flag than its file has"
    if seen.quorum is None or seen.log is None:
        why = next((each.why for each in seen.unseen if "controllers" in each.what), "no leader")
        return f"the quorum has not been seen: {why}"
    for node in nodes:
        if node not in seen.quorum.voters:
            return f"controller {node} is no voter of the quorum"
        if seen.log.ready.get(node) is not seen.controllers[node].flag:
            return f"controller {node} has not registered with its flag"
    return None
