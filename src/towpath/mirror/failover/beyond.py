"""Records on the target after the last receipt, which a killed run left behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.cluster.data.client import Client
from towpath.cluster.metadata import ProducerState
from towpath.ledger.books import PartitionBooks
from towpath.ledger.link import OpenLink
from towpath.ledger.producers import generations, of_generation
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicPartition
from towpath.wire import plain
from towpath.wire.header import CONTROL, TRANSACTIONAL, BatchHeader, split

SEQUENCES = 1 << 31
"""Sequences of a producer id, which begin again behind the last one."""
_FETCH_BYTES = 4 << 20
_WAIT = 0.05
_COMMIT = b"\0\1"
"""The type in the key of a marker that commits a transaction (KIP-98)."""


def ahead_of(books: PartitionBooks, states: Iterable[ProducerState]) -> int | None:
    """Return how many records the link wrote after the last receipt, `None` if unknown. Pure.

    What is written in transactions is unknown: producer state does not tell what was aborted.
    """
    opened, receipt = books.opened, books.receipt
    if opened is None or books.writers or (receipt is None and books.repairs):
        return None
    own = of_generation(opened.producer_id, books.generation)
    state = next((each for each in states if each.id == own and each.epoch == 0), None)
    if state is None or state.last_sequence < 0:
        return None
    if receipt is None:  # it would be the first one
        return state.last_sequence + 1
    if receipt.generation != books.generation:
        return None
    return (state.last_sequence + 1 - receipt.sequence) % SEQUENCES


def committed_beyond(
    link: OpenLink,
    known: Mapping[TopicPartition, PartitionBooks],
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Return how many records after the last receipt were committed in transactions.

    Only the log tells. What lies in open transactions is not among them: a failover ends these.

    Args:
        link: The link.
        known: The source partitions, with what the ledger knows of them.
        ends: Where the target logs end, by target partition.
    """
    wanted = {tp: each for tp, each in known.items() if _may_have_more(each, ends)}
    found: dict[TopicPartition, int] = {}
    if not wanted:
        return found
    with Client(link.config.target, Side.TARGET, link.target) as client:
        for tp, each in wanted.items():
            try:
                found[tp] = _committed(client, each)
            except ClusterError:  # the log end alone tells then
                continue
    return found


def _may_have_more(books: PartitionBooks, ends: Mapping[TopicPartition, int]) -> bool:
    opened = books.opened
    if opened is None or not books.writers:
        return False
    return ends.get(opened.target, -1) > _copied(books)


def _copied(books: PartitionBooks) -> int:
    opened, receipt = books.opened, books.receipt
    assert opened is not None  # noqa: S101  # by the caller
    return receipt.target_end if receipt is not None else opened.target_start


def _committed(client: Client, books: PartitionBooks) -> int:
    """Count the link's records behind the last receipt, up to where consumers may read now.

    Headers alone are read, as failover does without what copying needs.
    """
    opened = books.opened
    assert opened is not None  # noqa: S101  # by the caller
    own, at, number = generations(opened.producer_id), _copied(books), 0
    started: dict[int, int] = dict.fromkeys(books.writers, 0)
    while True:
        chunk = client.fetch(opened.target, at, max_bytes=_FETCH_BYTES, wait=_WAIT)
        before = at
        for batch in split(chunk.batches):
            header = BatchHeader.read(batch)
            first, at = (
                max(at, header.base_offset),
                header.base_offset + header.last_offset_delta + 1,
            )
            if header.attributes & CONTROL and header.producer_id in started:
                is_commit = (plain.decode(batch)[0].key or b"")[2:4] == _COMMIT
                number += started[header.producer_id] if is_commit else 0
                started[header.producer_id] = 0
            elif header.attributes & TRANSACTIONAL and header.producer_id in started:
                started[header.producer_id] += at - first
            elif header.producer_id in own and not header.attributes & CONTROL:
                number += at - first
        if at in {before, chunk.said.high_watermark}:
            return number
