"""An admin, a client and a ledger, as one of several copiers that race sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.support.copying.lanes import NODE
from tests.support.copying.race_leader import TP, last_of
from towpath.cluster.admin.markers import Marker
from towpath.cluster.codes import refused
from towpath.cluster.data.client import Records
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.cluster.metadata import (
    Answers,
    Broker,
    Metadata,
    PartitionInfo,
    ProducerState,
    TopicInfo,
)
from towpath.ledger import entries
from towpath.ledger.entries import Entry, ReadEntry
from towpath.ledger.ledger import KeyFilter
from towpath.model.errors import UnreachableError
from towpath.model.nouns import (
    ClusterId,
    ProducerId,
    Side,
    TopicId,
    TopicName,
    TopicPartition,
)

if TYPE_CHECKING:
    from tests.support.copying.racing import World

TOPIC_ID = TopicId("t")


class StandIn:
    """An admin, a client and a ledger, as one copier sees them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._read_to = 0
        self.opens = True
        self.topics = self.offsets = self.producers = self.cluster = self

    # As `Admin` has them

    def describe(self, names: Iterable[TopicName]) -> dict[TopicName, TopicInfo]:
        one = PartitionInfo(0, NODE, (NODE,))
        return {name: TopicInfo(name, TOPIC_ID, False, (one,)) for name in names}

    def with_brokers(self, names: Iterable[TopicName]) -> Metadata:
        brokers = {each.id: each for each in self.brokers()}
        return Metadata(ClusterId("cluster"), NODE, brokers, self.describe(names))

    def _all(
        self, asked: str, tps: Iterable[TopicPartition], said: Callable[[], Any]
    ) -> Answers[Any, Any]:
        self._world.meanwhile(asked)
        return Answers(dict.fromkeys(tps, said()), {})

    def brokers(self) -> tuple[Broker, ...]:
        return (Broker(NODE, "host", 1),)

    def earliest(
        self, tps: Iterable[TopicPartition], *, patience: float, leaders: object
    ) -> Answers[Any, int]:
        del patience, leaders
        return self._all("earliest", tps, lambda: self._world.leader.start)

    def log_ends(
        self, tps: Iterable[TopicPartition], *, patience: float, leaders: object, epochs: object
    ) -> Answers[Any, int]:
        del patience, leaders, epochs
        return self._all("log_ends", tps, lambda: self._world.leader.end)

    def states(
        self, tps: Iterable[TopicPartition], *, patience: float, leaders: object
    ) -> Answers[Any, tuple[ProducerState, ...]]:
        del patience, leaders
        return self._all(
            "states",
            tps,
            lambda: tuple(
                ProducerState(ProducerId(number), last, self._world.written_at, -1, epoch)
                for number, (epoch, last, _) in self._world.leader.states.items()
            ),
        )

    def write_markers(
        self, markers: Mapping[TopicPartition, Sequence[Marker]], *, patience: float
    ) -> Answers[TopicPartition, None]:
        del patience
        self._world.meanwhile("write_markers")
        lost = UnreachableError(Side.TARGET, "writing", "it was lost")
        for some in markers.values():
            if self._world.rng.random() > self._world.takes_markers:
                return Answers({}, dict.fromkeys(markers, lost))
            codes = [self._world.leader.mark(each) for each in some]
            if any(codes):
                no = refused(Side.TARGET, f"writing markers to {TP}", codes[0])
                return Answers({}, dict.fromkeys(markers, no))
        self._world.meanwhile("write_markers")
        kept = self._world.rng.random() < self._world.takes_markers
        return Answers(dict.fromkeys(markers), {}) if kept else Answers({}, {TP: lost})

    # As `Client` has it

    def fetch(self, _tp: TopicPartition, at: int, **_: object) -> Records:
        if self.opens:
            self._world.meanwhile("fetch")
        end = self._world.leader.end
        data = b"".join(each for each in self._world.leader.log if last_of(each) >= at)
        said = Fetched(
            tp=TP,
            error=0,
            high_watermark=end,
            last_stable=end,
            log_start=0,
            aborted=(),
            preferred_replica=-1,
            start=0,
            end=len(data),
        )
        return Records(bytearray(data), said)

    # As `Ledger` has them

    def read(self, *, wanted: KeyFilter) -> list[ReadEntry]:
        self._world.meanwhile("read")
        fresh = self._world.ledger[self._read_to :]
        self._read_to = len(self._world.ledger)
        found = [entries.decode(*each) for each in fresh if wanted(entries.decode_key(each[0]))]
        return [each for each in found if each is not None]

    def read_about(self, *_: object) -> list[ReadEntry]:
        return []  # `read` begins at the first entry

    def append(self, made: Iterable[Entry]) -> None:
        self._world.meanwhile("append")
        self._world.ledger += [entries.encode(each) for each in made]
        self._world.meanwhile("append")
