"""Detection of foreign records in a mirror topic from before the mirroring began.

The front of a compacted mirror topic holds nothing but the link's own markers, as its log cannot be
cut there (`records/landing/log_starts.py`). Only the log itself tells whether there is more in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from towpath.cluster.data.client import Client
from towpath.groups.decide import MirrorPlace, TranslatedGroup
from towpath.groups.observe_groups import TargetView
from towpath.groups.reading import Log
from towpath.ledger.link import OpenLink
from towpath.ledger.offsets import Exactness
from towpath.model.errors import ClusterError, CorruptBatchError
from towpath.model.nouns import Side, TopicId, TopicPartition

_Front = tuple[TopicId, TopicPartition, int, int]


class BeforeMirror:
    """Reads the start of mirror topics for groups whose offset lies before it; each topic once.

    Args:
        link: The link.
    """

    def __init__(self, link: OpenLink) -> None:
        self._link = link
        self._first: dict[_Front, int] = {}

    def seen(
        self,
        groups: Iterable[TranslatedGroup],
        places: Mapping[TopicPartition, MirrorPlace],
        target: TargetView,
    ) -> TargetView:
        """Return the view of the target, with log starts moved to the first record.

        A position is never moved over records of others. Offsets that hold no record are none.

        Args:
            groups: The groups, with the answers to their positions.
            places: All partitions that they stand in.
            target: The target.
        """
        asked = set(_asked(groups, places, target))
        unknown = [each for each in asked if each not in self._first]
        silent = self._read(unknown) if unknown else {}
        found = {front[1]: self._first[front] for front in asked if front in self._first}
        return replace(
            target, starts={**target.starts, **found}, silent={**target.silent, **silent}
        )

    def _read(self, fronts: Iterable[_Front]) -> dict[TopicPartition, ClusterError]:
        """Read fronts; return the partitions that could not be read, and why."""
        silent: dict[TopicPartition, ClusterError] = {}
        config, admin = self._link.config.target, self._link.target
        with Client(config, Side.TARGET, admin) as client:
            for front in fronts:
                _, tp, start, end = front
                try:
                    with suppress(CorruptBatchError):  # it is a batch, so there is a record
                        records = Log(admin, client, tp).records(start, end)
                        first = next((each.offset for each, _ in records), end)
                        self._first[front] = min(first, end)
                except ClusterError as error:
                    silent[tp] = error
        return silent


def _asked(
    groups: Iterable[TranslatedGroup],
    places: Mapping[TopicPartition, MirrorPlace],
    target: TargetView,
) -> Iterable[_Front]:
    """Yield the fronts before which groups stand: from the log start to the mirror's begin."""
    for group in groups:
        for tp, answer in group.answers.items():
            mirror, before = places[tp].mirror, answer.exactness is Exactness.BEFORE_START
            if mirror is not None and before:
                start = target.starts.get(mirror, answer.offset)
                if start < answer.offset:
                    yield target.topics[mirror.topic].id, mirror, start, answer.offset
