"""The offsets and lags of a link's groups, read-only; the source may be unreachable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.data.client import Client
from towpath.groups.earlier import EarlierLinks
from towpath.groups.group_lags import ClusterEnd, Lags, lags
from towpath.groups.model import GroupPosition, GroupReport, SyncReport
from towpath.groups.offset_maps import Positions
from towpath.groups.sync import GroupSync
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.offsets import TranslatedOffset
from towpath.model.errors import UnreachableError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import LinkName, Side, SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import LinkConfig

PASSING = frozenset(
    {
        ReasonCode.POSITION_AHEAD,
        ReasonCode.NOT_MIRRORED_YET,
        ReasonCode.GROUP_ANSWER_LOST,
        ReasonCode.GROUP_UNREAD,
    }
)
"""Why a position is not written yet: a later sync writes it."""
SETTLED = frozenset({ReasonCode.GROUP_HAS_MEMBERS, ReasonCode.GROUP_HELD, ReasonCode.GROUP_AHEAD})
"""Why a position is not written: clients read on the target already."""
LEFT_OUT = frozenset({ReasonCode.TOPIC_NOT_MIRRORED, ReasonCode.GROUP_NOT_EMPTY})
"""Why a position is not written: the file asks for that."""

At = tuple[ClientGroup, TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsLook:
    """The offsets of a link's groups on both sides.

    Attributes:
        link: The link.
        asked: Whether the file asks for groups, so that a run brings them over.
        report: The groups, and what a sync would do.
        gone: Why the source could not be asked; the positions are those of the ledger then. ""
            where it was asked.
        lags: How far the groups are behind, as far as that was looked at.
    """

    link: LinkName
    asked: bool
    report: SyncReport
    gone: str = ""
    lags: Mapping[At, Lags] = field(default_factory=dict)

    def lag(self, position: GroupPosition) -> Lags:
        """Return the lag of a position."""
        return self.lags.get((position.group, position.tp), Lags())

    def only(self, wanted: Callable[[GroupReport], bool]) -> GroupsLook:
        """Return the same result for some of the groups."""
        kept = tuple(filter(wanted, self.report.groups))
        return replace(self, report=replace(self.report, groups=kept))

    @property
    def differences(self) -> GroupsLook:
        """The offsets that the target does not have, and their groups."""
        kept = (
            replace(group, positions=tuple(filter(differs, group.positions)))
            for group in self.report.groups
        )
        groups = tuple(group for group in kept if group.positions)
        return replace(self, report=replace(self.report, groups=groups))

    @property
    def trouble(self) -> bool:
        """Whether some offset cannot be transferred, for a reason that will not pass."""
        report = self.report
        return bool(report.failed or report.unlisted) or any(map(in_trouble, report.positions))


def in_trouble(position: GroupPosition) -> bool:
    """Return whether an offset cannot be transferred, for a reason that will not pass."""
    reason = position.reason
    if reason is not None and reason.code == ReasonCode.TOPIC_OVER:
        return position.known is None
    return reason is not None and reason.code not in PASSING | SETTLED | LEFT_OUT


def with_topics_over(report: SyncReport, books: LinkBooks) -> SyncReport:
    """Return the report with why nothing is written in topics that failed over or were stopped.

    Without that, positions in them would wait for records that never come. Pure.
    """

    def told(position: GroupPosition) -> GroupPosition:
        state = books.closed(position.tp.topic)
        waits = position.due or (position.reason is not None and position.reason.code in PASSING)
        if state is None or not waits:
            return position
        code = ReasonCode.TOPIC_OVER
        why = Reason.of(code, offset=position.source, state=state.state)
        return replace(position, reason=why)

    groups = (replace(each, positions=tuple(map(told, each.positions))) for each in report.groups)
    return replace(report, groups=tuple(groups))


def differs(position: GroupPosition) -> bool:
    """Return whether the target lacks an offset that the file asks for."""
    left_out = position.reason is not None and position.reason.code in LEFT_OUT
    return not (position.settled or left_out)


def look_at_groups(config: LinkConfig, wanted: Iterable[str] | None = None) -> GroupsLook:
    """Return the offsets of a link's groups on both sides.

    Args:
        config: The link.
        wanted: The groups whose lag is looked at, by their names at the source; `None` for all.

    Raises:
        ClusterError: The target cannot be reached.
        LedgerError: The ledger is of no use.
    """
    with open_link(config) as link:
        gone = _why_gone(link)
        everywhere = GroupSync(link, only=lambda _: True)  # also where the link has failed over
        report = with_topics_over(everywhere.once(write=False, gone=bool(gone)), link.books)
        names = None if wanted is None else frozenset(wanted)
        chosen = [each for each in report.positions if names is None or each.group.name in names]
        with (
            Client(config.source, Side.SOURCE, link.source) as source,
            Client(config.target, Side.TARGET, link.target) as target,
        ):
            found = lags(
                chosen,
                None if gone else ClusterEnd(link.source, source),
                ClusterEnd(link.target, target),
            )
    at = ((each.group, each.tp) for each in chosen)
    return GroupsLook(
        link=config.link,
        asked=config.groups is not None,
        report=report,
        gone=gone,
        lags=dict(zip(at, found, strict=True)),
    )


def translated(
    config: LinkConfig, wanted: Mapping[TopicPartition, SourceOffset]
) -> dict[TopicPartition, TranslatedOffset[TargetOffset]]:
    """Return the target offsets of source offsets, for mirrored partitions.

    It needs the target alone, but for offsets before the one at which the link began.

    Args:
        config: The link.
        wanted: An offset of each source partition.

    Raises:
        ClusterError: The target cannot be reached.
        LedgerError: The ledger is of no use.
    """
    with open_link(config) as link:
        GroupSync(link).read()
        positions = Positions(link.books)
        mirrors = {tp: positions.mirror_of(tp) for tp in wanted}
        starts = link.target.offsets.earliest(filter(None, mirrors.values()))
        positions.begin(starts)
        earlier = EarlierLinks(link)
        earlier.begin(starts)
        opened = {tp: link.books.of(tp).opened for tp in wanted}
        return {
            tp: earlier.answer(known, wanted[tp], positions.answer(tp, wanted[tp]))
            for tp, known in opened.items()
            if known is not None
        }


def _why_gone(link: OpenLink) -> str:
    """Return why the source cannot be asked, "" if it can.

    Raises:
        LedgerError: The link joins other clusters.
    """
    try:
        cluster = link.source.cluster.id()
    except UnreachableError as error:
        return str(error)
    if link.ledger.usable():
        link.read()
    link.books.check_clusters(cluster, link.target.cluster.id())
    return ""
