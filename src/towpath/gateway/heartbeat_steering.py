"""Routing of heartbeats of the protocols with epochs while topics move.

These are groups of consumers (KIP-848), share groups (KIP-932) and Streams groups (KIP-1071). A
member of a group that moves hears that it has nothing, gives back what it has, and says so. Its
coordinator hears from it meanwhile, as finishing what it has in hand may take longer than its
session. Where its group goes on nobody knows it, so it joins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from towpath.gateway.coordinator_answers import NOT_COORDINATOR
from towpath.gateway.frames import Head
from towpath.gateway.heartbeat_forms import FORMS, HeartbeatForm
from towpath.gateway.recoding import recoded
from towpath.gateway.request_sending import Handler, RelayedClient, RequestSending, of_cluster
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import Cluster, Routes
from towpath.gateway.steering_answers import FENCED_EPOCH, LOADING


class HeartbeatSteering:
    """Routes heartbeats to a cluster, or answers them.

    Args:
        send: Sends requests on.
        routes: What is held and promoted.

    Attributes:
        handlers: What decodes a request and what handles it, by its API key.
    """

    def __init__(self, send: RequestSending, routes: Routes) -> None:
        self._send, self._routes = send, routes
        self.handlers: Mapping[int, tuple[Any, Handler]] = {
            key: (form.request, partial(self._beat, form)) for key, form in FORMS.items()
        }

    def _beat(
        self,
        form: HeartbeatForm,
        asked: Any,
        frame: bytearray,
        head: Head,
        client: RelayedClient,
    ) -> RequestStep:
        routes, group, member = self._routes, asked.group_id, asked.member_id
        if routes.is_interrupted and (group, member) not in routes.heard:
            routes.heard.add((group, member))
            routes.rejoining.add((group, member))
        routes.seen.saw(group, member)
        gathering, epoch = routes.gathers(group), asked.member_epoch
        if epoch == 0 and (gathering is not None or routes.awaits(group)):
            if gathering is not None:
                gathering.beats(group, member, ())
            return RequestStep(own=form.refused(asked, head, LOADING))
        if epoch == 0 and routes.begins_at_source(group, form.topics(asked)):
            return RequestStep(own=form.refused(asked, head, NOT_COORDINATOR))
        if gathering is not None and epoch > 0:
            gathering.beats(group, member, form.owned(asked))
            place = of_cluster(routes.leaves(gathering), client.home)
            emptied = partial(recoded, form.response, form.emptied)
            return self._send.to(place, frame, head).changed(emptied)
        if (group, member) in routes.rejoining:
            if epoch > 0:  # told until it joins: who asked before may have given up waiting
                return RequestStep(own=form.refused(asked, head, FENCED_EPOCH))
            routes.rejoining.discard((group, member))
        cluster = Cluster.TARGET if routes.moves(group) else Cluster.SOURCE
        return self._send.to(of_cluster(cluster, client.home), frame, head)
