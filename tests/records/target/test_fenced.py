"""Mapped partitions whose generation is fenced, while taking them over does not work at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.support.copying.race_leader import TP
from tests.support.copying.race_stand_in import TOPIC_ID, StandIn
from tests.support.copying.racing import DAY_MS, LINK, WORK, World, source
from tests.support.logs.batches import batch, numbered
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Opened, Receipt
from towpath.ledger.producers import of_generation
from towpath.model.errors import TowpathError, UnreachableError
from towpath.model.nouns import Mode, ProducerId, SourceOffset, TargetOffset
from towpath.records.standing import Standing
from towpath.records.target.opening import Opener
from towpath.records.work import CopySlice
from towpath.settings import ClusterConfig, OffsetsPolicy
from towpath.wire import batch as wire
from towpath.wire.plain import Record

OLD = 1
FENCED = "INVALID_PRODUCER_EPOCH"


def producer(generation: int) -> ProducerId:
    return of_generation(WORK.producer_id, generation)


def receipt(mode: Mode, generation: int = 0, copier: str = "a") -> Receipt:
    return Receipt(
        link=LINK,
        topic=TP.topic,
        partition=TP.partition,
        producer_id=WORK.producer_id,
        source_end=SourceOffset(0),
        source_epoch=-1,
        target_end=TargetOffset(0),
        sequence=0,
        records=0,
        bytes=0,
        first_timestamp=-1,
        last_timestamp=-1,
        digest=0,
        mode=mode,
        reasons=(),
        run=(SourceOffset(0), TargetOffset(0), 0),
        trouble=None,
        at=1,
        copier=copier,
        generation=generation,
    )


class Opening:
    """A copier that opens one partition, and what it opens."""

    def __init__(self, mode: Mode = Mode.MAPPED, *, settled: bool = True) -> None:
        self.world = World(random.Random(0), source(4, 1), deep=9)
        self.leader = self.world.leader
        config = ClusterConfig.model_validate({"bootstrap": "host:1", "request_timeout": "1h"})
        work = CopySlice(
            link=LINK,
            source=config,
            target=config,
            assignments=(WORK,),
            run_id="run",
            round=1,
            seconds=0.0,
            offsets=OffsetsPolicy.AUTO,
            settled=settled,
            target_memory_ms=DAY_MS,
        )
        stand_in: Any = StandIn(self.world)
        self.stand_in = stand_in
        self.opener = Opener(work, stand_in, stand_in, stand_in, LinkBooks(LINK))
        self.tell(
            Opened(
                link=LINK,
                topic=TP.topic,
                partition=TP.partition,
                source_topic_id=WORK.source_id,
                target_topic=TP.topic,
                target_topic_id=TOPIC_ID,
                producer_id=WORK.producer_id,
                mode=mode,
                reasons=(),
                source_start=SourceOffset(0),
                target_start=TargetOffset(0),
                run_id="run",
                at=1,
            )
        )

    def tell(self, *entries: Opened | Receipt) -> None:
        self.stand_in.append(entries)

    def fence(self, generation: int) -> None:
        self.leader.states[producer(generation)] = 1, -1, False

    def forget(self, generation: int) -> None:
        del self.leader.states[producer(generation)]

    def write(self, count: int) -> None:
        """Let an earlier copier write records under generation 0."""
        data = np.frombuffer(batch(numbered([Record(b"k", b"v", (), OLD)] * count)), np.uint8)
        wire.stamp(data, wire.scan(data, 0, len(data)), producer(0), 0)
        assert self.leader.append(data.tobytes()).error == 0

    def __call__(self) -> Standing | TowpathError:
        return self.opener.open([WORK])[TP]


def test_who_is_fenced_waits_until_the_target_has_forgotten_the_next_generation() -> None:
    """A broker that begins to lead may know ids that the one before it had forgotten."""
    opening = Opening()
    opening.tell(receipt(Mode.MAPPED))
    opening.fence(0)
    opening.fence(1)
    first = opening()
    assert isinstance(first, Standing), "there may be nothing to send"
    opening.opener.refused(WORK, first.position.generation, FENCED)
    assert isinstance(opening(), UnreachableError)
    opening.forget(1)
    there = opening()
    assert isinstance(there, Standing)
    assert (there.writer, there.position.generation) == (None, 1)


def test_a_fence_says_nothing_about_the_generation_of_another_copier() -> None:
    opening = Opening()
    opening.tell(receipt(Mode.MAPPED))
    assert isinstance(opening(), Standing)
    opening.opener.refused(WORK, 0, FENCED)
    opening.tell(receipt(Mode.MAPPED, 1, "another"))
    opening.world.takes_markers = 0.0
    assert isinstance(opening(), UnreachableError), "it cannot fence that one now"
    opening.world.takes_markers = 1.0
    there = opening()
    assert isinstance(there, Standing)
    assert (there.writer, there.position.generation) == (None, 2)


def test_who_is_fenced_before_the_ledger_knows_that_it_is_mapped_waits_for_that() -> None:
    opening = Opening(Mode.IDENTICAL)
    opening.tell(receipt(Mode.IDENTICAL))
    opening.fence(0)
    opening.opener.refused(WORK, 0, FENCED)
    assert isinstance(opening(), UnreachableError)
    opening.tell(receipt(Mode.MAPPED))
    there = opening()
    assert isinstance(there, Standing)
    assert (there.writer, there.position.generation) == (None, 1)


def test_what_the_target_deleted_since_is_counted_though_a_fence_hides_its_sequence() -> None:
    opening = Opening(settled=False)
    opening.write(10)
    opening.leader.delete_before(10)
    opening.world.takes_markers = 1.0
    there = opening()
    assert isinstance(there, Standing)
    assert (there.position.generation, len(there.passed)) == (1, 10)


def test_a_later_attempt_fences_the_earlier_one_where_a_partition_came_later() -> None:
    opening = Opening()
    opening.world.takes_markers = 1.0
    opening.opener.preceded()
    opening.opener.add([WORK], 0, settled=True)
    there = opening()
    assert isinstance(there, Standing)
    assert there.position.generation == 1
