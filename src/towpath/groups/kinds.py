"""Group types that a target supports, and the conversion of groups to their own type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupState
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.reasons import Reason, ReasonCode

CONSUMER, STREAMS = "consumer", "streams"
"""Types of groups, in the words of Kafka, whose members die in a group of classic type."""


@dataclass(frozen=True, slots=True)
class _Need:
    """What a cluster needs for a kind of group: a request, and a feature that is on."""

    request: int
    since: str
    feature: str


_SHARE = _Need(91, "4.1", "share.version")  # AlterShareGroupOffsets
_STREAMS = _Need(88, "4.2", "streams.version")  # StreamsGroupHeartbeat
_SINCE_4_2 = 90, 1
"""A request, and the version of it that came with Kafka 4.2: DescribeShareGroupOffsets."""
_CONSUMER = _Need(68, "4.0", "group.version")  # ConsumerGroupHeartbeat


def unable_kinds(target: Admin, kinds: Iterable[GroupKind]) -> dict[GroupKind, Reason]:
    """Return the group kinds that the target does not support, each with the reason.

    Raises:
        ClusterError: The target cannot be reached.
    """
    if GroupKind.SHARE not in kinds:
        return {}
    why = _lacking(target, GroupKind.SHARE, _SHARE)
    return {} if why is None else {GroupKind.SHARE: why}


def _lacking(target: Admin, kind: str, need: _Need) -> Reason | None:
    if need.request not in target.cluster.api_versions():
        return Reason.of(ReasonCode.GROUP_KIND_OFF, kind=str(kind), since=need.since, feature="")
    features = target.cluster.features()
    if features is None or features.get(need.feature, 0) > 0:
        return None
    code = ReasonCode.GROUP_KIND_OFF
    return Reason.of(code, kind=str(kind), since=need.since, feature=need.feature)


class KindMaker:
    """Creates groups of the consumer protocol on the target; for one thread.

    Args:
        target: The target.
    """

    def __init__(self, target: Admin) -> None:
        self._target = target
        self._off: Reason | None = None
        self._streams: Reason | None = None
        self._asked = False

    def off(self) -> Reason | None:
        """Return why the target cannot create consumer protocol groups, `None` if it can.

        Raises:
            ClusterError: The target cannot be reached.
        """
        if not self._asked:
            self._off = _lacking(self._target, CONSUMER, _CONSUMER)
            self._asked = True
        return self._off

    def streams(self) -> Reason:
        """Return why a Streams group stays classic on the target.

        Raises:
            ClusterError: The target cannot be reached.
        """
        if self._streams is None:
            versions, (request, least) = self._target.cluster.api_versions(), _SINCE_4_2
            is_old = versions.get(request, (0, -1))[1] < least
            off = _lacking(self._target, STREAMS, _STREAMS)
            barred = Reason.of(ReasonCode.STREAMS_BARRED)
            bound = Reason.of(ReasonCode.STREAMS_TOPOLOGY)
            self._streams = barred if is_old or off is not None else bound
        return self._streams

    def make(self, wanted: Iterable[ClientGroup]) -> dict[ClientGroup, Reason]:
        """Convert groups to the consumer protocol; return the reasons for failures.

        Args:
            wanted: Groups of classic type without members.
        """
        groups = list(wanted)
        if not groups:
            return {}
        try:
            off = self.off()
            if off is not None:
                return dict.fromkeys(groups, off)
            failed = self._target.groups.make(groups).failed
        except ClusterError as error:
            return dict.fromkeys(groups, error.reason)
        return {group: error.reason for group, error in failed.items()}


def arrives_classic(type_: str, there: GroupState | None, *, writes: bool) -> bool:
    """Return whether a group of a newer protocol is, or would become, classic on the target.

    Args:
        type_: Its type at the source.
        there: The group on the target, `None` where it is not there.
        writes: Whether the target has positions of it, or gets some.
    """
    if type_ not in {CONSUMER, STREAMS}:
        return False
    return writes if there is None else there.is_classic and not there.has_members
