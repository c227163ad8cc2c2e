"""Marks of share groups, which change before anybody can set a group back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import ShareGroupDescribeRequest
from towpath.cluster.metadata import Broker
from towpath.model.groups import ClientGroup
from towpath.runtime.deadline import Deadline

_ASKING = "asking for the epochs of share groups"
_GROUPS = 100
"""Groups of one request."""

Marks = dict[ClientGroup, str]


def share_marks(
    control: Control, groups: Mapping[ClientGroup, Broker], deadline: Deadline
) -> Marks:
    """Return a mark of each share group; groups without an answer are absent.

    A coordinator sets start offsets only of a group without members, and counts the epoch of a
    group up with each member that comes or goes (KIP-932). So what has accepted records under one
    mark was not set back under it. Ids of members are random, so they differ in a group that was
    deleted and made again, whose epoch counts from the beginning.
    """
    shares: dict[Broker, list[ClientGroup]] = defaultdict(list)
    for group, broker in groups.items():
        shares[broker].append(group)
    found: Marks = {}

    def ask(broker: Broker) -> None:
        known = {group.name: group for group in shares[broker]}
        names = list(known)
        for at in range(0, len(names), _GROUPS):
            request = ShareGroupDescribeRequest(group_ids=names[at : at + _GROUPS])
            for said in control.ask(broker, request, deadline, _ASKING).groups:
                if not said.error_code:
                    found[known[said.group_id]] = _mark(said)

    ask_each(shares, ask)  # what a broker does not tell is not known
    return found


def _mark(said: Any) -> str:
    ids = sorted(member.member_id for member in said.members)
    return f"{said.group_epoch}-{crc32(' '.join(ids).encode()):08x}"
