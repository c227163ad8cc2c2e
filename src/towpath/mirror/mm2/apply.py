"""Writing of MirrorMaker 2's checkpoints to the target's groups; needs the target alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import ClientGroup
from towpath.cluster.data.client import Client
from towpath.groups.model import GroupPosition
from towpath.groups.observe_groups import known_coordinators
from towpath.groups.write import write
from towpath.mirror.mm2.checkpoints import CheckpointReader, Checkpoints, Seen, find_alias
from towpath.mirror.mm2.decide import CheckpointedTarget, LogRange, Terms, clamped, decide, resets
from towpath.mirror.mm2.other_writers import SkippedSpan, WriterLook
from towpath.mirror.mm2.policy import Policy
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsRequest:
    """The options of applying checkpoints.

    Attributes:
        alias: MirrorMaker 2's alias of the source, "" for the only one that the target knows.
        policy: Its replication policy.
        groups: The groups, none for all.
        rewinds: Whether a group may be set back.
        over_others: Whether a group may skip records that MirrorMaker 2 did not write.
        scan: Bytes of each mirror partition to look at for such records.
        dry_run: Whether nothing is written.
    """

    alias: str = ""
    policy: Policy = field(default_factory=Policy)
    groups: tuple[str, ...] = ()
    rewinds: bool = False
    over_others: bool = False
    scan: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsReport:
    """The result of applying checkpoints.

    Attributes:
        checkpoints: What was read.
        alias: MirrorMaker 2's alias of the source.
        positions: What became of each group in each partition.
        notes: What the user should know besides, in sentences.
        written: Whether anything was to be written.
    """

    checkpoints: Checkpoints
    alias: str
    positions: tuple[GroupPosition, ...]
    notes: tuple[str, ...]
    written: bool

    @property
    def complete(self) -> bool:
        """Whether each group's offsets match its checkpoints."""
        return all(each.settled or each.due for each in self.positions)


def apply(target: ClusterConfig, request: CheckpointsRequest) -> CheckpointsReport:
    """Read the checkpoints, decide, commit the offsets, and read them back.

    Raises:
        ConfigError: There are no checkpoints, or a group that was named has none.
        ClusterError: The target cannot be asked.
    """
    with Admin(target, Side.TARGET) as admin, Client(target, Side.TARGET, admin) as client:
        alias = request.alias or find_alias(admin, request.policy)
        return _Applier(admin, client, replace(request, alias=alias)).done()


class _Applier:
    def __init__(self, admin: Admin, client: Client, request: CheckpointsRequest) -> None:
        self._admin, self._request = admin, request
        self._terms = Terms(
            alias=request.alias,
            policy=request.policy,
            rewinds=request.rewinds,
            over_others=request.over_others,
        )
        topic = request.policy.checkpoints(request.alias)
        self._reader = CheckpointReader(admin, client, topic)
        self._look = WriterLook(admin, client, request.scan)
        self._notes: list[str] = []
        self._spanned: dict[TopicPartition, SkippedSpan] = {}

    def done(self) -> CheckpointsReport:
        self._reader.read()
        first = self._view()
        self._spanned = self._spans(first)
        looked = self._look.look(self._spanned, self._request.policy, self._request.alias)
        # Looking takes its time: ends, groups and checkpoints are those of now, not of then.
        added = self._reader.read()
        view = replace(self._view(), looked=looked)
        positions = tuple(decide(seen, view, self._terms) for seen in self._wanted)
        if not self._request.dry_run:
            positions = tuple(write(self._admin, view.states, positions))
        self._tell(added, positions, view)
        return CheckpointsReport(
            checkpoints=self._reader.found,
            alias=self._request.alias,
            positions=positions,
            notes=tuple(self._notes),
            written=not self._request.dry_run,
        )

    @property
    def _wanted(self) -> list[Seen]:
        """The checkpoints of the groups that were asked for, sorted."""
        found = self._reader.found.groups
        for name in self._request.groups:
            if name not in found:
                text = f"group {name} has no checkpoint in {self._reader.found.topic}"
                raise ConfigError((ConfigProblem("--groups", text),))
        names = self._request.groups or found
        return [seen for name in sorted(names) for _, seen in sorted(found[name].items())]

    def _view(self) -> CheckpointedTarget:
        """Ask the target about all groups and partitions that have checkpoints."""
        wanted = self._wanted
        listed = self._admin.groups.listed()
        groups = {ClientGroup(seen.checkpoint.group) for seen in wanted}
        # A broker that did not list its groups may coordinate any of them, so each is asked for.
        there = known_coordinators(listed.groups, groups)
        commits = self._admin.groups.offsets(groups, there)
        known = self._admin.topics.describe({seen.checkpoint.tp.topic for seen in wanted})
        partitions = {name: len(info.partitions) for name, info in known.items()}
        logs = self._logs({seen.checkpoint.tp for seen in wanted}, partitions)
        return CheckpointedTarget(
            partitions=partitions, logs=logs, states=listed.groups, commits=commits
        )

    def _logs(
        self, tps: Iterable[TopicPartition], partitions: Mapping[TopicName, int]
    ) -> dict[TopicPartition, LogRange]:
        there = [tp for tp in tps if 0 <= tp.partition < partitions.get(tp.topic, 0)]
        if not there:
            return {}
        # The end is asked for after the start, so that it is never before it.
        starts = self._admin.offsets.earliest(there)
        ends = self._admin.offsets.latest(there)
        return {tp: LogRange(starts[tp], ends[tp]) for tp in there if tp in starts and tp in ends}

    def _spans(self, view: CheckpointedTarget) -> dict[TopicPartition, SkippedSpan]:
        """Return which offsets of each partition groups would skip."""
        firsts: dict[TopicPartition, int] = {}
        ends: dict[TopicPartition, int] = defaultdict(int)
        checkpoints: dict[TopicPartition, list[int]] = defaultdict(list)
        for seen in self._wanted:
            tp, log = seen.checkpoint.tp, view.logs.get(seen.checkpoint.tp)
            if log is None or self._terms.policy.original(self._terms.alias, tp.topic) is None:
                continue
            known = view.commit(seen.checkpoint.group, tp)
            begin = log.start if known is None else max(log.start, known)
            firsts[tp] = min(begin, firsts.get(tp, begin))
            ends[tp] = max(ends[tp], clamped(seen.checkpoint.target, log).offset)
            checkpoints[tp].append(seen.checkpoint.target)
        return {
            tp: SkippedSpan(first, ends[tp], tuple(checkpoints[tp]))
            for tp, first in firsts.items()
            if first < ends[tp]
        }

    def _tell(
        self, added: int, positions: Sequence[GroupPosition], view: CheckpointedTarget
    ) -> None:
        found, notes = self._reader.found, self._notes
        if added:
            notes.append(
                f"{added} checkpoints came while this ran: MirrorMaker 2 still runs; stop it, and"
                " the consumers at the source, then apply again"
            )
        if found.expired:
            notes.append(
                f"{found.expired} offsets of {found.topic} expired while they were read; set"
                " cleanup.policy=compact on it"
            )
        if found.unreadable:
            notes.append(f"{found.unreadable} records of {found.topic} are no checkpoints")
        notes += self._look.notes(self._spanned, view.looked)
        notes += resets(positions, view)
