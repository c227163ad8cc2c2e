"""Records that tests set aside, without a lane that does so."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.entries import RefusedRecords
from towpath.ledger.keys import new_name
from towpath.ledger.link import open_link
from towpath.ledger.quarantine import writer
from towpath.ledger.quarantine.format import QuarantinedRecord, QuarantineKey
from towpath.ledger.quarantine.reader import InQuarantine
from towpath.mirror.quarantine.quarantined import RecordFilter, look_at_quarantine
from towpath.model.changes import Undeliverable
from towpath.model.nouns import ProducerId, Side, SourceOffset, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.wire import plain


def begin(mirror: Mirror) -> None:
    """Mirror what is there, as a run does that knows both clusters."""
    with open_link(mirror.config) as link:
        link.prepare()
    mirror.catch_up()


def too_large(topic: str, offset: int) -> Reason:
    return Reason.of(
        ReasonCode.RECORD_TOO_LARGE, partition=f"{topic}-0", offset=offset, size=9, target=topic
    )


def set_aside(mirror: Mirror, records: Iterable[plain.Record], producer: int = 0) -> None:
    """Put records of partition 0 of a mirrored topic into quarantine.

    Args:
        mirror: The link, which has mirrored the topic.
        records: The records; their offsets are those at the source.
        producer: The incarnation, by default the present one.
    """
    opened, link = mirror.books().opened, mirror.config.link  # the file is read each time
    assert opened is not None
    made = [
        QuarantinedRecord(
            key=QuarantineKey(
                link,
                TopicName(mirror.topic),
                0,
                SourceOffset(each.offset),
                ProducerId(producer or opened.producer_id),
            ),
            why=too_large(mirror.topic, each.offset),
            at=now_ms(),
            record=each,
        )
        for each in records
    ]
    if not producer:
        mirror.note(
            RefusedRecords(
                link=link,
                topic=TopicName(mirror.topic),
                partition=0,
                producer_id=opened.producer_id,
                first=made[0].key.offset,
                end=SourceOffset(max(each.key.offset for each in made) + 1),
                why=made[0].why,
                policy=Undeliverable.QUARANTINE,
                generation=-1,
                name=new_name(),
                at=now_ms(),
            )
        )
    config = mirror.config.target
    with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as client:
        writer.prepare(admin)
        writer.put(client, made)


def held(mirror: Mirror) -> tuple[InQuarantine, ...]:
    """Return what is in quarantine of a link."""
    return look_at_quarantine(mirror.config, RecordFilter()).records
