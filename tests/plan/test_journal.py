"""Failed steps that nothing asks for any more are told no more. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Entry, Journal, Phase
from towpath.mirror.subjects import SUBJECTS
from towpath.model.nouns import NO_TOPIC_ID, LinkName, TopicName
from towpath.plan.journal import JournalWriter, failures
from towpath.plan.kinds import as_data
from towpath.topics.steps import CreateTopic

LINK = LinkName("l")


def creation(name: str) -> CreateTopic:
    mirror = TopicName(f"eu.{name}")
    return CreateTopic(
        source=TopicName(name), target=mirror, partitions=1, replication_factor=1, configs={}
    )


def failed(step: CreateTopic) -> Journal:
    subject, name, do, part = SUBJECTS.kinds.key(step)
    return Journal(
        link=LINK, subject=subject, name=name, do=do, part=part, step=as_data(step),
        phase=Phase.FAILED, plan="", owned=False, topic_id=NO_TOPIC_ID, error="refused", at=1,
    )  # fmt: skip


@dataclass
class Ledger:
    entries: list[Entry] = field(default_factory=list)

    def append(self, entries: list[Entry]) -> None:
        self.entries += entries


def test_what_a_later_run_found_mended_is_no_failure_any_more() -> None:
    mended, asked, troubled, other = map(creation, ("mended", "asked", "troubled", "other"))
    books, ledger = LinkBooks(LINK), Ledger()
    for step in (mended, asked, troubled):
        books.take(failed(step))
    books.take(replace(failed(other), subject="schemas"))
    clients: Any = SimpleNamespace(subjects=SUBJECTS)
    link: Any = SimpleNamespace(ledger=ledger, books=books)
    JournalWriter(link, clients).mend(["topics"], [asked], ["troubled"])
    assert [each.name for each in failures(books)] == ["eu.asked", "eu.troubled", "eu.other"]
    [entry] = ledger.entries
    assert isinstance(entry, Journal)
    assert (entry.name, entry.phase, entry.error) == ("eu.mended", Phase.FAILED, "")
    JournalWriter(link, clients).mend(["topics"], [asked], ["troubled"])
    assert len(ledger.entries) == 1, "it is written once"
