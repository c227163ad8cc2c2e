"""The wait for controllers to join their quorum."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.kraft.do.tools import Tools
from towpath.kraft.do.waiting import Left
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation, has_flag


def await_quorum(tools: Tools, nodes: Iterable[NodeId], left: Left) -> None:
    """Wait until controllers answer, vote, and are registered with the flag of their files.

    Args:
        tools: What the step works with.
        nodes: The controllers, which must keep running meanwhile.
        left: Tells what the step has changed so far.
    """
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
