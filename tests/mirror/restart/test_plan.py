"""What a restart would do for a topic, and where it does nothing. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Opened, Restarted
from towpath.mirror.restart.restart_plan import MirrorTopic, NotRestarted, Restart, outcome
from towpath.model.nouns import (
    NO_TOPIC_ID,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
)

LINK, TOPIC, COPY = LinkName("shop"), TopicName("gone"), TopicName("eu.gone")
OLD, NEW, MIRROR = (TopicId(f"00000000-0000-0000-0000-00000000000{n}") for n in (1, 2, 3))
OPENED = Opened(
    link=LINK, topic=TOPIC, partition=0, source_topic_id=OLD, target_topic=COPY,
    target_topic_id=MIRROR, producer_id=ProducerId(1 << 40), mode=Mode.IDENTICAL, reasons=(),
    source_start=SourceOffset(0), target_start=TargetOffset(0), run_id="r", at=1,
)  # fmt: skip
OURS = MirrorTopic(id=MIRROR, partitions=2, records=9, owned=True, foreign=False)


def books(*entries: Restarted) -> LinkBooks:
    made = LinkBooks(LINK)
    made.take(OPENED)
    for entry in entries:
        made.take(entry)
    return made


def test_a_mirror_topic_that_is_kept_or_replaced() -> None:
    kept = outcome(TOPIC, COPY, {TOPIC: NEW}, OURS, books(), replace=False)
    assert isinstance(kept, Restart)
    assert kept.deletion is None
    assert str(kept) == (
        "gone: copy the new topic from its beginning to eu.gone, behind the 9 offsets of the old"
        " topic; offsets are mapped, not identical"
    )
    replaced = outcome(TOPIC, COPY, {TOPIC: NEW}, OURS, books(), replace=True)
    assert isinstance(replaced, Restart)
    assert replaced.deletion is not None
    assert (replaced.deletion.target, replaced.deletion.id) == (COPY, MIRROR)
    assert str(replaced).startswith("gone: delete mirror topic eu.gone with the 9 offsets of the")
    for mirror in (None, replace(OURS, records=0)):
        empty = outcome(TOPIC, COPY, {TOPIC: NEW}, mirror, books(), replace=False)
        assert str(empty).endswith("to eu.gone, which has no records, with identical offsets")


@pytest.mark.parametrize(
    ("source", "mirror", "why"),
    [
        ({}, OURS, "the source has no topic of this name"),
        ({TOPIC: OLD}, OURS, "there is nothing to restart"),
        ({TOPIC: NEW}, replace(OURS, owned=False), "this link did not create mirror topic eu.gone"),
        ({TOPIC: NEW}, replace(OURS, id=NO_TOPIC_ID), "this link did not create mirror topic"),
        ({TOPIC: NEW}, replace(OURS, foreign=True), "records that this link did not write"),
    ],
)
def test_what_is_not_restarted(
    source: dict[TopicName, TopicId], mirror: MirrorTopic, why: str
) -> None:
    found = outcome(TOPIC, COPY, source, mirror, books(), replace=True)
    assert isinstance(found, NotRestarted)
    assert why in str(found)


def test_a_restart_holds_for_one_topic_id() -> None:
    entry = Restarted(link=LINK, topic=TOPIC, source_topic_id=NEW, user="ana", host="ops-1", at=1)
    assert books().made_again({TOPIC: NEW}) == {TOPIC}
    assert not books(entry).made_again({TOPIC: NEW})
    later = TopicId("00000000-0000-0000-0000-000000000009")
    assert books(entry).made_again({TOPIC: later}) == {TOPIC}


def test_what_is_copied_after_a_restart_is_due_to_it() -> None:
    entry = Restarted(link=LINK, topic=TOPIC, source_topic_id=NEW, user="ana", host="ops-1", at=1)
    known = books(entry)
    assert known.restart_of(OPENED.tp) is None, "the old topic is still the one that was opened"
    opened = known.of(OPENED.tp).opened
    assert opened is not None
    known.of(OPENED.tp).opened = replace(opened, source_topic_id=NEW)
    assert known.restart_of(OPENED.tp) == entry
    assert str(entry).endswith("ana on ops-1 accepted that at 1970-01-01T00:00:00Z")
    assert books().restart_of(OPENED.tp) is None
    assert LinkBooks(LINK).restart_of(OPENED.tp) is None
