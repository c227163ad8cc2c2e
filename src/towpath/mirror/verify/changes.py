"""The changes under which a link's records were copied, from the ledger. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.compare.work import LinkChanges
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Tally
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicPartition


def changes_of(books: LinkBooks, tps: Iterable[TopicPartition]) -> LinkChanges | None:
    """Return the changes of partitions, `None` if nothing is known of the link.

    Raises:
        LedgerError: The ledger does not define a change.
    """
    digests = {digest for tp in tps for digest in digests_of(books.of(tp))}
    defined = {digest: books.defined(digest) for digest in digests}
    if books.identity is None:
        if defined:
            raise LedgerError("the ledger does not say which clusters the link joins")
        return None
    clusters = books.identity.source_cluster, books.identity.target_cluster
    return LinkChanges(
        link=books.link, source_cluster=clusters[0], target_cluster=clusters[1], defined=defined
    )


def undefined(books: LinkBooks, tp: TopicPartition) -> str:
    """Return why the changes of a partition's records are unknown, "" if they are known."""
    try:
        changes_of(books, [tp])
    except LedgerError as error:
        return str(error)
    return ""


def digests_of(books: PartitionBooks) -> frozenset[str]:
    """Return the digests of all changes under which a partition was copied."""
    opened = books.opened.change if books.opened is not None else ""
    return frozenset({opened, *(digest for _, _, digest in books.changed)}) - {""}


def change_sentences(tally: Tally) -> Iterator[str]:
    """Yield sentences about the changes of the source's records."""
    for kind, number in tally:
        what, _, name = kind.partition(":")
        records, ids = _many(number, "record"), _many(number, "schema id")
        match what:
            case "dropped":
                yield f"{records} left out: dropped by rule {name}"
            case "quarantined":
                yield f"{records} left out: in quarantine ({name})"
            case "refused":
                yield f"{records} left out: refused by the target"
            case "bad_ids":
                yield f"{ids} copied unchanged: malformed ({name})"
            case "unchanged_ids":
                yield f"{ids} copied unchanged: the target has none for them ({name})"
            case "headers":
                yield f"{_many(number, 'header')} compared as the change writes them"
            case "redacted":
                yield f"{_many(number, 'header')} compared as redacted"
            case "ids":
                yield f"{ids} compared as rewritten for the target"
            case _:
                yield f"{number:,}: {kind}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
