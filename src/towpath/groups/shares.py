"""Share groups, whose start offset trails the records they have accepted.

A coordinator writes the start offset with the next acknowledgement, and keeps what was accepted
behind it in its own state, which no request shows (KIP-932). Only the lag tells of it (KIP-1226,
Kafka 4.2): it counts the records that are still to be accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Broker
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.model.amounts import counted
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TargetOffset, TopicPartition

UNKNOWN = -1
"""In place of a number that nobody tells."""
_PATIENCE = 5.0
"""Seconds that leaders get, each of which is asked once; the next sync asks again."""

Commits = Mapping[TopicPartition, Commit]


@dataclass(frozen=True, slots=True)
class ShareStand:
    """The state of a share group in a partition.

    Attributes:
        start: Its start offset.
        lag: Records that it has still to accept, `UNKNOWN` from brokers before Kafka 4.2.
        before: Where the log ended before the lag was told, `UNKNOWN` if nobody said.
        after: Where it ended behind that.
    """

    start: int
    lag: int = UNKNOWN
    before: int = UNKNOWN
    after: int = UNKNOWN

    def place(self, last: int) -> tuple[int, int]:
        """Return the offset where the group continues, and how many accepted records repeat.

        Where nothing is left to accept, that is the end that the log had before the lag was told:
        what came later may not be accepted. The number is `UNKNOWN` where no broker tells it, and
        offsets without records count, too, so it may be too large.

        Args:
            last: An offset before which it had accepted everything in an earlier look.
        """
        if self.lag == 0 and self.before >= self.start:
            return self.before, 0
        if self.after <= self.start:
            return self.start, 0 if self.after == self.start else UNKNOWN
        if self.lag < 0:
            return self.start, UNKNOWN
        accepted = max(0, self.after - self.start - self.lag)
        # The next acknowledgement writes the start that was reached by then. So a start that is
        # still behind that look means that nothing was accepted since, or that the group was set
        # back, and has left any record out.
        if accepted == last - self.start:
            return last, 0
        return self.start, accepted


def stands(
    source: Admin,
    said: Mapping[ClientGroup, Commits],
    known: Mapping[ClientGroup, Broker],
) -> dict[ClientGroup, dict[TopicPartition, ShareStand]]:
    """Return the state of share groups, given their start offsets.

    Args:
        source: The source.
        said: The share groups with their start offsets.
        known: Their coordinators.

    Raises:
        ClusterError: The source cannot be reached.
    """
    if not said:
        return {}
    tps = {tp for commits in said.values() for tp in commits}
    before = source.offsets.latest(tps, patience=_PATIENCE)
    now = source.groups.offsets(said, {group: known[group] for group in said})
    after = source.offsets.latest(tps, patience=_PATIENCE)

    def stand(group: ClientGroup, tp: TopicPartition, first: Commit) -> ShareStand:
        told = now[group].get(tp) if group in now else Commit(first.offset)
        told = told or Commit(first.offset)
        return ShareStand(told.offset, told.lag, before.get(tp, UNKNOWN), after.get(tp, UNKNOWN))

    return {
        group: {tp: stand(group, tp, first) for tp, first in commits.items()}
        for group, commits in said.items()
    }


def bounded(answer: TranslatedOffset[TargetOffset], again: int) -> TranslatedOffset[TargetOffset]:
    """Return an answer with the number of accepted records that repeat.

    Args:
        answer: The translated place of the group.
        again: That number, `UNKNOWN` where no broker tells it.
    """
    if again == 0 or answer.exactness is not Exactness.EXACT:
        return answer
    if again < 0:
        why = (
            "the start offset of a share group stays behind records that it has accepted, and"
            " brokers before Kafka 4.2 do not tell how many; they come again"
        )
    else:
        come = "comes" if again == 1 else "come"
        records = f"{counted(again, 'record')} behind the start offset"
        why = f"{records} that the group has accepted {come} again"
    return TranslatedOffset(answer.offset, Exactness.BOUNDED, why)
