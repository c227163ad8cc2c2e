"""The retention of group offsets on the target, and measures against early expiry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupState
from towpath.groups.kinds import STREAMS, KindMaker, arrives_classic
from towpath.groups.model import Expiry, GroupPosition, GroupReport
from towpath.groups.observe_groups import TargetView
from towpath.groups.write import client_of
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import Reason, ReasonCode

_RETENTION = "offsets.retention.minutes"
_MINUTE = 60_000


class Keeper:
    """Knows the target's offset retention and renews groups; for one thread.

    Args:
        target: The target.
    """

    def __init__(self, target: Admin) -> None:
        self._target, self._kinds = target, KindMaker(target)
        self._retention: int | None = None
        self._hindered: dict[ClientGroup, Reason] = {}
        self._made: set[ClientGroup] = set()

    @property
    def retention(self) -> int:
        """The target brokers' offset retention in ms; -1 if they do not reveal it."""
        if self._retention is None:
            try:
                said = self._target.cluster.broker_config(_RETENTION)
            except ClusterError:
                return -1
            self._retention = -1 if said is None else int(said) * _MINUTE
        return self._retention

    def prepare(
        self,
        types: Mapping[ClientGroup, str],
        positions: Iterable[GroupPosition],
        view: TargetView,
        *,
        renew: bool,
    ) -> None:
        """Create groups with their own type, and recreate those whose offsets would expire.

        Args:
            types: The types of mirror groups at the source.
            positions: Positions as they were decided; the due ones are written next.
            view: The target.
            renew: Make groups anew that had members once: delete them just before all of their
                offsets are written.
        """
        written: dict[ClientGroup, set[TopicPartition]] = defaultdict(set)
        there: set[ClientGroup] = set()
        for each in positions:
            client = client_of(each)
            if each.due and each.mirror is not None:
                written[client].add(each.mirror)
            if each.due or each.settled:
                there.add(client)
        wanted = [each for each in there if self._is_classic(types, each, view)]
        convertible = [each for each in wanted if types[each] != STREAMS]
        failed = self._kinds.make(convertible)
        self._made = set(convertible) - failed.keys()
        self._hindered = failed
        if renew:
            self._make_anew(written, view)

    def _is_classic(
        self, types: Mapping[ClientGroup, str], client: ClientGroup, view: TargetView
    ) -> bool:
        there = view.groups.get(client.name)
        return arrives_classic(types.get(client, ""), there, writes=True)

    def _make_anew(
        self, written: Mapping[ClientGroup, set[TopicPartition]], view: TargetView
    ) -> None:
        for client, tps in written.items():
            there = view.groups.get(client.name)
            if there is None or not there.was_joined or client in self._made:
                continue
            why = _others(view, client, tps) or self._deleted(client)
            if why is None:
                self._made.add(client)
            else:
                code = ReasonCode.GROUP_NOT_RENEWED
                self._hindered[client] = Reason.of(code, group=client.name, why=why)

    def _deleted(self, client: ClientGroup) -> Reason | None:
        try:
            failed = self._target.groups.delete([client]).failed
        except ClusterError as error:
            return error.reason
        return failed[client].reason if client in failed else None

    def told(self, report: GroupReport, view: TargetView, now: int) -> GroupReport:
        """Return the report with the time until which the target keeps the group's offsets.

        Args:
            report: What became of the group.
            view: The target as it was before.
            now: The time in ms since 1970.
        """
        client = ClientGroup(report.mirror_group, report.group.kind)
        there = view.groups.get(client.name)
        made = client in self._made
        expires = Expiry.BY_COMMIT if made else expiry(client.kind, there)
        told = replace(report, expires=expires)
        return replace(told, remarks=tuple(self._remarks(told, client, there, now)))

    def _remarks(
        self, report: GroupReport, client: ClientGroup, there: GroupState | None, now: int
    ) -> Iterator[Reason]:
        if not any(each.due or each.settled for each in report.positions):
            return
        hindered = self._hindered.get(client)
        if client not in self._made and arrives_classic(report.type, there, writes=True):
            yield from self._classic(report.type, client)
        elif hindered is not None:
            yield hindered
        if report.expires is Expiry.SINCE_EMPTY and hindered is None:
            code = ReasonCode.GROUP_MAY_EXPIRE
            yield Reason.of(code, group=client.name, retention=self.retention)
        elif is_overdue(report, self.retention, now):
            code = ReasonCode.GROUP_OVERDUE
            yield Reason.of(code, group=client.name, retention=self.retention)

    def _classic(self, type_: str, client: ClientGroup) -> Iterator[Reason]:
        """Yield why a group of a newer protocol is of classic type on the target."""
        why = self._hindered.get(client) or self._kinds.off()
        if type_ == STREAMS:
            why = self._kinds.streams()
        if why is not None and why.code is ReasonCode.STREAMS_BARRED:
            yield why
        elif why is not None:
            yield Reason.of(ReasonCode.GROUP_ARRIVES_CLASSIC, kind=type_, why=why)


def _others(view: TargetView, client: ClientGroup, tps: Iterable[TopicPartition]) -> Reason | None:
    """Return that a group has an offset that is not written now, and that would be lost."""
    for tp in sorted(view.commits.get(client, {}).keys() - set(tps)):
        return Reason.of(ReasonCode.OTHER_OFFSETS, partition=str(tp))
    return None


def expiry(kind: GroupKind, there: GroupState | None) -> Expiry:
    """Return the time from which the retention of a group's offsets counts.

    Args:
        kind: Its kind.
        there: The group on the target, `None` where offsets alone make it.
    """
    if kind is GroupKind.SHARE:
        return Expiry.NEVER
    if there is None:
        return Expiry.BY_COMMIT
    if there.has_members:
        return Expiry.WITH_MEMBERS
    return Expiry.SINCE_EMPTY if there.was_joined else Expiry.BY_COMMIT


def holds_until(report: GroupReport, retention: int) -> int | None:
    """Return until when the target keeps all offsets of a group, in ms since 1970.

    `None` where that is not known, or where it does not expire.

    Args:
        report: What became of the group.
        retention: How long the target keeps offsets, in ms; -1 if that is not known.
    """
    if report.expires is not Expiry.BY_COMMIT or not report.committed or retention < 0:
        return None
    return report.committed + retention


def is_overdue(report: GroupReport, retention: int, now: int) -> bool:
    """Return whether the target may drop the offsets of a group at any moment."""
    until = holds_until(report, retention)
    return until is not None and until <= now
