"""Pauses, lost records and open transactions as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towpath.mirror.show.status_shapes import LostJson, OpenTransactionJson, PauseJson

if TYPE_CHECKING:
    from towpath.ledger.entries import Pause
    from towpath.mirror.status.losses import LostRecords
    from towpath.mirror.status.open_transaction import OpenTransaction


def pause_as_json(pause: Pause) -> PauseJson:
    """Return a pause for programs."""
    return PauseJson(
        link=pause.link, topic=pause.topic, user=pause.user, host=pause.host, at=pause.at
    )


def lost_as_json(lost: LostRecords) -> LostJson:
    """Return lost records for programs."""
    return LostJson(
        target_end=lost.target_end,
        acknowledged=lost.acknowledged,
        source_first=lost.source_first,
        source_end=lost.source_end,
        records=lost.records,
    )


def open_as_json(found: OpenTransaction) -> OpenTransactionJson:
    """Return an open transaction for programs."""
    return OpenTransactionJson(
        first=found.first,
        offsets=found.offsets,
        producer_id=found.producer_id,
        transactional_id=found.transactional_id or None,
        last_timestamp=found.last_timestamp,
        hangs=found.hangs,
    )
