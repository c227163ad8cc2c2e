"""Transactions that replay records: each holds records and the marks of their replay. Blocking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from towpath.cluster.data.client import Client
from towpath.cluster.data.transaction_writer import TransactionWriter
from towpath.ledger.link import OpenLink
from towpath.ledger.quarantine.format import ReplayMark
from towpath.ledger.quarantine.writer import PLACE
from towpath.model.errors import RefusedError
from towpath.model.nouns import LinkName, TopicPartition
from towpath.records.trouble import REFUSES_IDS
from towpath.wire import plain


def transactional_id(link: LinkName) -> str:
    """Return the transactional id of the replays of a link.

    It begins as those of its partitions do, so one ACL covers all (docs/rights.md). No partition
    has it: their ids end with a number.
    """
    return f"towpath.{link}.:quarantine"


@dataclass(frozen=True, slots=True)
class Written:
    """A record to replay: its target partition, and the mark of its replay."""

    target: TopicPartition
    record: plain.Record
    mark: ReplayMark


class ReplayWriter:
    """Writes transactions, after `begin` has fenced all earlier writers of the link."""

    def __init__(self, link: OpenLink, client: Client) -> None:
        name, timeout = transactional_id(link.config.link), link.config.target.request_timeout
        self._writer = TransactionWriter(link.target, client, name, timeout)

    def begin(self) -> int:
        """Fence all earlier writers and abort their transactions. Returns the producer id.

        Raises:
            ClusterError: The target refuses transactions, or did not answer.
        """
        return self._writer.begin()

    def write(self, records: Sequence[Written]) -> None:
        """Write records and their marks in one transaction, committed on return.

        Raises:
            RefusedError: The target refused it. Nothing of it will be committed once `abort` was
                called.
            UnreachableError: No answer came in time. It may be committed or not.
        """
        parts: defaultdict[TopicPartition, list[plain.Record]] = defaultdict(list)
        for each in records:
            parts[each.target].append(each.record)
        parts[PLACE] = [each.mark.encode() for each in records]
        self._writer.commit(parts)

    def abort(self) -> None:
        """Abort a refused transaction, so that another one can be written.

        It fences nobody: a replay that has begun meanwhile may have written the same records.

        Raises:
            RefusedError: Another replay of the link has begun (see `fenced_by`).
            UnreachableError: No answer came in time.
        """
        self._writer.abort()

    @staticmethod
    def fenced_by(error: RefusedError) -> bool:
        """Return whether an error says that another replay of the link has begun."""
        return error.error in REFUSES_IDS
