"""The partitions to request from each broker, and the readers that are paused."""

from __future__ import annotations

from typing import Generic

from towpath.cluster.data.fetch import FetchSession
from towpath.cluster.data.fetch_bodies import FetchFrom
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicName, TopicPartition
from towpath.records.source.budget import FetchBudget
from towpath.records.source.late import Late
from towpath.records.source.pace import Clockwork, Pace
from towpath.records.source.parked import Parked
from towpath.records.source.reader import R
from towpath.records.source.requests import LOOKED_AT, Requests
from towpath.runtime.deadline import Deadline

_SHORT_WAIT_MS = 10
"""Long poll while a partition is held back, so that it can be fetched again soon."""
_JOINING = 0.25
"""Seconds after a reader was added in which others may follow; long polls are short meanwhile, as
who is added during one waits for its end."""


class Wants(Generic[R]):
    """Keeps the partitions of readers in the fetch session of the serving broker.

    Nothing is asked for a reader that has no room, is parked, or waits for the limit of its topic.

    Args:
        reactor: Calls back later.
        requests: The sessions.
        budget: Memory for answers.
        pace: Limits on the bytes per second.
        wait_ms: How long brokers wait for the first byte of an answer.

    Attributes:
        readers: The readers that are fetched for.
        at: The broker that each of them is fetched from.
    """

    def __init__(
        self,
        reactor: Clockwork,
        requests: Requests,
        budget: FetchBudget,
        pace: Pace,
        wait_ms: int,
    ) -> None:
        self._requests, self._budget, self._pace = requests, budget, pace
        self._wait_ms = wait_ms
        self.readers: dict[TopicPartition, R] = {}
        self.at: dict[TopicPartition, int] = {}
        self._full: set[TopicPartition] = set()
        """Readers that have no room."""
        self._late = Late(pace)
        self._parked = Parked[R](reactor, self.ask)
        self._joining = Deadline.after(0.0)
        pace.listen(self._topic_due)

    # What the next requests name

    def ask(self, reader: R) -> None:
        """Request a reader's partition from `expected`, at once if its broker is idle."""
        self.want(reader)
        self._requests.send(self.at.get(reader.source, -1))

    def want(self, reader: R) -> None:
        """Put a reader's partition into the next request, unless its topic is at its limit."""
        tp = reader.source
        session = self._requests.sessions.get(self.at.get(tp, -1))
        if session is None:
            return
        size = self._pace.share(tp) if self._pace.on else self._budget.partition_bytes
        if not size:
            self._late.add(tp)
            session.drop(tp)
            return
        if self._late:
            self._late.forget(tp)
        topic_id = reader.source_id if session.by_id else NO_TOPIC_ID
        session.want(tp, FetchFrom(reader.expected, size, topic_id, reader.fetch_epoch))

    def go_on(self, reader: R, session: FetchSession) -> None:
        """Put a reader that just got records into the next request if it has room."""
        if reader.held >= self._budget.room:
            self._full.add(reader.source)
            session.drop(reader.source)
        else:
            self.want(reader)

    def begin(self, node: int) -> None:
        """Send the first request of a session, with all readers that have room."""
        for tp, at in self.at.items():
            if at == node:
                self.readers[tp].relieve(Side.SOURCE)
                if tp not in self._full:
                    self.want(self.readers[tp])
        self._requests.send(node)

    def longest_wait(self, partitions: int) -> int:
        """Return the longest wait of a broker for the first byte of a response, in ms."""
        if self._full:
            return _SHORT_WAIT_MS
        longest = self._wait_ms
        if not self._joining.over:
            longest = min(longest, partitions // LOOKED_AT)
        if self._late:
            longest = min(longest, round(1000 * self._late.seconds))
        return max(_SHORT_WAIT_MS, longest)

    # Readers that come and go

    def add(self, reader: R) -> None:
        """Add a reader, without a request yet."""
        self._joining = Deadline.after(_JOINING)
        self.readers[reader.source] = reader
        self._wait_no_more(reader.source)

    def remove(self, tp: TopicPartition) -> None:
        """Remove a reader, and stop requesting its partition."""
        self.readers.pop(tp, None)
        self._pace.forget(tp)
        self._wait_no_more(tp)
        self.leave(tp)

    def leave(self, tp: TopicPartition) -> None:
        """Stop requesting a partition from its present broker; ignore a response in flight."""
        self._requests.drop(self.at.pop(tp, None), tp)

    def lost(self, node: int) -> list[TopicPartition]:
        """Return the readers of a lost broker, which no broker serves now."""
        gone = [tp for tp, at in self.at.items() if at == node]
        for tp in gone:
            del self.at[tp]
        return gone

    # Readers for which nothing is asked now

    def park(self, reader: R) -> None:
        """Stop requesting for `reader`, whose offset has changed, until it moves or time passes."""
        tp = reader.source
        node = self.at.get(tp)
        if node is None or tp not in self.readers:
            return
        self.leave(tp)
        self.at[tp] = node
        self._full.discard(tp)
        self._late.forget(tp)
        self._parked.add(reader)

    def room(self, reader: R) -> None:
        """Request for a paused reader again, if it has room again."""
        tp = reader.source
        held = tp in self._full and reader.held < self._budget.room // 2
        if self._parked.leave(tp) or held:
            self._full.discard(tp)
            self.ask(reader)

    def stuck(self, tp: TopicPartition) -> bool:
        """Return whether a reader can take no records now: it has no room, or is parked."""
        return tp in self._full or tp in self._parked

    def held_back(self, tp: TopicPartition) -> bool:
        """Return whether no data is requested for a reader now."""
        return self.stuck(tp) or tp in self._late

    def _wait_no_more(self, tp: TopicPartition) -> None:
        """Forget why nothing was asked for a reader."""
        self._full.discard(tp)
        self._parked.leave(tp)
        self._late.forget(tp)

    def _topic_due(self, topic: TopicName) -> None:
        """Ask again for readers of a topic, as far as its limit allows."""
        nodes = set[int]()
        for tp in self._late.due(topic):
            self.want(self.readers[tp])
            nodes.add(self.at.get(tp, -1))
        for node in nodes:
            self._requests.send(node)
