"""Topics that another tool mirrors, as the file names them, and offsets in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from towpath.cluster.data.client import Client
from towpath.groups.decide import MirrorPlace
from towpath.groups.foreign_offsets import translate
from towpath.groups.observe_groups import SourceView, TargetView
from towpath.groups.offset_maps import Answer
from towpath.groups.reading import Log
from towpath.ledger.entries import Opened
from towpath.ledger.link import OpenLink
from towpath.ledger.offsets import Exactness
from towpath.model.errors import ConfigError, UnreachableError
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import GroupsConfig, TopicsConfig

_NOT_THERE = Reason.of(ReasonCode.NOT_MIRRORED_YET)


def was_mirrored_before(opened: Opened) -> bool:
    """Return whether another tool mirrored a partition up to the offset where this link began."""
    return any(reason.code is ReasonCode.MIRRORED_BEFORE for reason in opened.reasons)


At = tuple[TopicPartition, SourceOffset]


class ForeignTopics:
    """Translates offsets in topics that another tool mirrors.

    Args:
        link: The link.
        config: Which topics these are.
    """

    def __init__(self, link: OpenLink, config: GroupsConfig) -> None:
        self._link, self._foreign = link, config.foreign
        self._topics: TopicsConfig = link.config.topics
        self._exact: dict[At, Answer] = {}
        """Exact answers, which hold as long as the topics on both sides are the same, and the
        target deletes no records."""
        self._stamps: dict[TopicPartition, tuple[TopicId, TopicId, int | None]] = {}
        self._clients: tuple[Client, Client] | None = None
        self._away: UnreachableError | None = None

    def holds(self, tp: TopicPartition) -> bool:
        """Return whether another tool mirrors a source partition."""
        foreign = self._foreign
        return (
            foreign is not None and foreign.matches(tp.topic) and not self._topics.matches(tp.topic)
        )

    def mirror_of(self, tp: TopicPartition) -> TopicPartition | None:
        """Return the mirror partition of a source partition, `None` if there can be none."""
        if self._foreign is None or not self.holds(tp):
            return None
        try:
            return TopicPartition(self._foreign.target_name(tp.topic), tp.partition)
        except ConfigError:
            return None

    def place(self, tp: TopicPartition, source: SourceView, target: TargetView) -> MirrorPlace:
        """Return the mirror partition of a source partition, and whether both exist."""
        mirror = self.mirror_of(tp)
        if mirror is None or mirror not in target.ends or tp.topic not in source.ids:
            return MirrorPlace(mirror=mirror, reason=_NOT_THERE)
        ids = source.ids[tp.topic], target.topics[mirror.topic].id
        stamp = *ids, target.starts.get(mirror)
        if self._stamps.setdefault(tp, stamp) != stamp:
            self._stamps[tp] = stamp
            self._exact = {at: each for at, each in self._exact.items() if at[0] != tp}
        return MirrorPlace(mirror=mirror)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open for translation; connections are made on first use."""
        link = self._link
        with (
            Client(link.config.source, Side.SOURCE, link.source) as source,
            Client(link.config.target, Side.TARGET, link.target) as target,
        ):
            self._clients, self._away = (source, target), None
            try:
                yield
            finally:
                self._clients = None

    def answer(self, tp: TopicPartition, offset: SourceOffset) -> Answer:
        """Return the target offset of a position, while open.

        Raises:
            ClusterError: A cluster cannot be asked; after a source that is away nothing is asked.
            CorruptBatchError: A batch is damaged.
        """
        mirror = self.mirror_of(tp)
        assert mirror is not None  # noqa: S101  # by `place`
        return self._answer(tp, mirror, offset)

    def before(self, opened: Opened, offset: SourceOffset) -> Answer:
        """Return the target offset of a group's offset from before this link began.

        Another tool had mirrored the partition up to there (`ReasonCode.MIRRORED_BEFORE`).

        Raises:
            ClusterError: A cluster cannot be asked; after a source that is away nothing is asked.
            CorruptBatchError: A batch is damaged.
        """
        return self._answer(opened.tp, opened.target, offset, opened.target_start)

    def _answer(
        self,
        tp: TopicPartition,
        mirror: TopicPartition,
        offset: SourceOffset,
        until: int | None = None,
    ) -> Answer:
        found = self._exact.get((tp, offset))
        if found is not None:
            return found
        if self._away is not None:
            raise self._away
        assert self._clients is not None  # noqa: S101  # while `open`
        source, target = self._clients
        here = Log(self._link.source, source, tp)
        there = Log(self._link.target, target, mirror, until)
        try:
            answer = translate(here, there, offset)
        except UnreachableError as error:
            self._away = error
            raise
        if answer.exactness is Exactness.EXACT:
            self._exact[tp, offset] = answer
        return answer
