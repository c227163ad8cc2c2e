"""Source logs that were cut below what was copied, detected before a run reads there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Gap
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.source.trouble import cut
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig

_COPIED = frozenset({State.BEHIND, State.CAUGHT_UP, State.PAUSED})


def cut_logs(
    source: Admin,
    books: Mapping[TopicPartition, PartitionBooks],
    patience: float | None = None,
) -> dict[TopicPartition, SourceOffset]:
    """Return the offsets to which source logs were cut below what was copied, by partition.

    A leader that lacked records was elected, or a disk was lost. The leader epoch of the last
    copied record then ends before it, or is unknown there, whatever was written since: what a
    leader answers to a fetch, too (KIP-101, KIP-595).

    Args:
        source: The source. Leaders that do not answer tell nothing.
        books: What the ledger knows of the partitions.
        patience: As for `ask_leaders`.
    """
    copied = {
        tp: each.receipt
        for tp, each in books.items()
        if each.receipt is not None and each.receipt.source_epoch >= 0
    }
    if not copied:
        return {}
    epochs = {tp: receipt.source_epoch for tp, receipt in copied.items()}
    try:
        answers = source.offsets.epoch_answers(epochs, patience=patience)
    except ClusterError:
        return {}
    found = {}
    for tp, answer in answers.items():
        end = copied[tp].source_end
        if answer.end < 0:
            continue  # a log of older epochs only: a fetch tells more (`records/source/side.py`)
        unknown = 0 <= answer.epoch < epochs[tp]
        if answer.end < end or unknown:
            found[tp] = SourceOffset(max(0, min(answer.end, end - 1)))
    return found


def with_cuts(
    rows: Iterable[PartitionStatus],
    config: LinkConfig,
    books: LinkBooks,
    source: Admin,
    patience: float | None = None,
) -> tuple[PartitionStatus, ...]:
    """Return the rows with what a run would find out about source logs that were cut.

    Args:
        rows: The partitions.
        config: The link.
        books: What the ledger knows of it.
        source: See `cut_logs`.
        patience: As for `ask_leaders`.
    """
    kept = tuple(rows)
    asked = {row.tp: books.of(row.tp) for row in kept if row.state in _COPIED and not row.error}
    found = _of_same_topics(source, books, cut_logs(source, asked, patience))
    return tuple(
        _with_cut(row, config.link, found[row.tp], stops=config.records.stops_on_gap(row.topic))
        if row.tp in found
        else row
        for row in kept
    )


def findings(
    rows: Iterable[PartitionStatus], told: Iterable[PartitionStatus], config: LinkConfig
) -> Iterator[Note | Problem]:
    """Yield a finding for each partition whose source log was cut: a problem if a run stops there.

    Where a run has gone on behind it already, there is none.

    Args:
        rows: The partitions.
        told: The same from `with_cuts`.
        config: The link.
    """
    for before, row in zip(rows, told, strict=True):
        cuts = [gap for gap in row.gaps if ReasonCode.SOURCE_CUT in gap.why.codes]
        stands = row.state is State.STOPPED and ReasonCode.SOURCE_CUT in row.codes
        if not cuts or not (stands or row.gaps != before.gaps):
            continue
        text = f"partition {row.partition}: {cuts[-1].cause}"
        if config.records.stops_on_gap(row.topic):
            text += ": a run stops there; `records.on_gap: record` goes on behind it"
            yield Problem(row.topic, text, Cause.TOPIC)
        else:
            yield Note(row.topic, f"{text}; a run goes on behind it")


def _of_same_topics(
    source: Admin, books: LinkBooks, found: Mapping[TopicPartition, SourceOffset]
) -> dict[TopicPartition, SourceOffset]:
    """Return what was found of topics that are still those which were copied."""
    try:
        there = source.topics.describe({tp.topic for tp in found}) if found else {}
    except ClusterError:
        return {}
    return {
        tp: at
        for tp, at in found.items()
        if (opened := books.of(tp).opened) is not None
        and (info := there.get(tp.topic)) is not None
        and info.id == opened.source_topic_id
    }


def _with_cut(
    row: PartitionStatus, link: LinkName, at: SourceOffset, *, stops: bool
) -> PartitionStatus:
    """Return the row as it is after a run, which stops at the cut or copies again from there."""
    lost = cut(at, SourceOffset(row.source_end))
    gap = Gap(
        link=link,
        topic=row.topic,
        partition=row.partition,
        producer_id=ProducerId(row.producer_id),
        first=lost.first,
        end=lost.end,
        why=lost.why,
        went_on=not stops,
        at=now_ms(),
    )
    told = replace(row, gaps=(*row.gaps, gap))
    if not stops:
        left = max(0, row.source_log_end - at) if row.source_log_end >= 0 else row.lag_records
        state = State.BEHIND if left and row.state is State.CAUGHT_UP else row.state
        codes = (*row.codes, str(lost.why.code))
        return replace(told, lag_records=left, state=state, codes=codes)
    why = Reason.of(ReasonCode.GAP, first=lost.first, last=lost.end - 1, why=lost.why)
    codes = tuple(dict.fromkeys((*row.codes, *map(str, why.codes))))
    return replace(told, error=str(why), state=State.STOPPED, codes=codes)
