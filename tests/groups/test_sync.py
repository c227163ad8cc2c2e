"""Groups go on on the target exactly where they stand at the source, on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clients.groups import member, rest, standing
from tests.support.kafka import Record, commit, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.groups.model import GroupPosition, PositionOutcome, SyncReport
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.model.nouns import TopicName
from towpath.model.reasons import ReasonCode
from towpath.settings import GroupsConfig

pytestmark = pytest.mark.broker


@contextmanager
def syncing(mirror: Mirror, **options: object) -> Iterator[GroupSync]:
    only = GroupsConfig.model_validate({"include": [f"{mirror.topic}-.*"], **options})
    with open_link(mirror.config) as link:
        yield GroupSync(link, only)


def test_a_group_in_the_middle_of_a_transactional_topic_goes_on_at_the_next_record(
    tmp_path: Path, pair: tuple[LocalCluster, LocalCluster], new_name: Callable[[str], str]
) -> None:
    source, target = pair
    name = TopicName(new_name("groups"))
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create()
    for first in range(0, 40, 10):
        records = [Record(b"k", str(n).encode()) for n in range(first, first + 10)]
        produce(source.bootstrap, name, records, {"transactional.id": f"{name}-t"})
    mirror.catch_up()
    # 10 records and a marker each: offset 27 is the record 25.
    half, busy, end, beyond = (f"{name}-{each}" for each in ("half", "busy", "end", "beyond"))
    for group, offset in ((half, 27), (busy, 5), (end, 44), (beyond, 60)):
        commit(source.bootstrap, group, name, 0, offset)
    with member(target, busy, name), syncing(mirror) as sync:
        preview = sync.once(write=False)
        assert {p.group.name for p in preview.positions if p.due} == {half, end}
        assert standing(target, half, name) is None

        report = sync.once()
        by_group = {p.group.name: p for p in report.positions}
        assert report.good
        assert by_group[half].outcome is PositionOutcome.CONFIRMED
        answer = by_group[half].answer
        assert answer is not None
        assert answer.exactness is Exactness.EXACT
        assert by_group[end].outcome is PositionOutcome.CONFIRMED
        assert _why(by_group[busy]) is ReasonCode.GROUP_HAS_MEMBERS
        assert _why(by_group[beyond]) is ReasonCode.POSITION_AHEAD
        assert standing(target, beyond, name) is None

        again = sync.once()
        outcomes = {p.group.name: p.outcome for p in again.positions}
        assert outcomes[half] is outcomes[end] is PositionOutcome.UNCHANGED

        seen = sync.once(gone=True)
        assert _outcomes(seen) == _outcomes(again)
    assert rest(target, half, name) == [str(n).encode() for n in range(25, 40)]


def _outcomes(report: SyncReport) -> dict[tuple[str, int], PositionOutcome]:
    return {(p.group.name, p.tp.partition): p.outcome for p in report.positions}


def _why(position: GroupPosition) -> ReasonCode | None:
    return position.reason.code if position.reason is not None else None
