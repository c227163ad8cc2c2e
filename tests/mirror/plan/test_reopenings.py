"""What a plan says of topics whose records get another change."""

from __future__ import annotations

from typing import Any

from tests.support.ledger.books import opened, receipt
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import DefinedChange
from towpath.mirror.plan.reopenings import reopenings
from towpath.model.changes import AddedHeader, RecordChange
from towpath.model.findings import Note
from towpath.model.nouns import LinkName, Mode, TopicName, TopicPartition
from towpath.settings import LinkConfig

ENV = RecordChange(headers=(AddedHeader(name="env", text="prod"),))
T = TopicName("t")


def notes(*changes: dict[str, Any], mode: Mode = Mode.IDENTICAL) -> list[Note]:
    config = LinkConfig.model_validate(
        {
            "source": {"bootstrap": "a:1"},
            "target": {"bootstrap": "b:1"},
            "link": "l",
            "topics": {"include": [".*"]},
            "changes": list(changes),
        }
    )
    books = LinkBooks(LinkName("l"))
    books.take(DefinedChange(link=books.link, digest=ENV.digest, change=ENV))
    for number in range(2):
        tp = TopicPartition(T, number)
        books.take(opened(tp, change=ENV.digest, mode=mode))
    books.take(receipt(TopicPartition(T, 0), change=ENV.digest, mode=mode))
    return list(reopenings(config, books, {T: T, TopicName("new"): TopicName("new")}))


def test_the_same_change_is_no_news() -> None:
    assert notes({"topics": ["t"], "headers": [{"name": "env", "value": "prod"}]}) == []


def test_another_change_is_told_with_the_partitions_that_it_concerns() -> None:
    text = (
        "its change differs from the one it was opened with (2 partitions): opened again; records"
        " that are on the target stay as they are"
    )
    assert notes() == [Note(T, text)]
    dropping = {"topics": ["t"], "drop": [{"tombstones": True}]}
    assert notes(dropping, mode=Mode.MAPPED) == [Note(T, text)]
    [note] = notes(dropping)
    assert note.text.startswith(text)
    assert "becomes mapped (2 partitions), because rules drop records" in note.text
