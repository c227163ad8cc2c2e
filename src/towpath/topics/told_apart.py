"""Links in both directions that tell the records of both sides apart by a header. Pure."""

from __future__ import annotations

from collections.abc import Collection

from towpath.ledger.books import LinkBooks
from towpath.model.changes import NO_CHANGE, DropRule, HeaderContent, RecordChange
from towpath.model.errors import ConfigError
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig

_CLUSTERS = frozenset(
    {HeaderContent.CLUSTER, HeaderContent.CHAIN, HeaderContent.REDPANDA_PROVENANCE}
)


def provenances(config: LinkConfig, topic: TopicName) -> frozenset[str]:
    """Return the headers by which a link leaves out whatever names its target there."""
    try:
        rules = config.change_of(topic).drop
    except ConfigError:  # a header has no value for this topic, which is told elsewhere
        return frozenset()
    return frozenset(
        rule.provenance
        for rule in rules
        if rule.provenance and rule == DropRule(name=rule.name, provenance=rule.provenance)
    )


def first_alone(config: LinkConfig, topic: TopicName) -> frozenset[str]:
    """Return the headers by which a link leaves records out, if they name the first cluster alone.

    They keep the id of a third cluster, and no link between two others leaves it out.
    """
    headers = provenances(config, topic)
    written = config.change_of(topic).headers if headers else ()
    kinds = {each.name: each.content for each in written if each.name in headers}
    if HeaderContent.CHAIN in kinds.values():
        return frozenset()
    return frozenset(
        name for name, kind in kinds.items() if kind is HeaderContent.REDPANDA_PROVENANCE
    )


def has_written(books: LinkBooks, topic: TopicName, headers: Collection[str]) -> bool:
    """Return whether a link ever wrote a cluster's id to one of these headers."""
    changes = [books.changes.get(each, NO_CHANGE) for each in _digests(books, topic)]
    return any(_names_cluster(change, headers) for change in changes)


def marks(books: LinkBooks, topic: TopicName, headers: Collection[str]) -> bool:
    """Return whether a link always wrote to one of these headers where records come from."""
    changes = [books.changes.get(each, NO_CHANGE) for each in _digests(books, topic)]
    return bool(changes) and all(_names_cluster(change, headers) for change in changes)


def _digests(books: LinkBooks, topic: TopicName) -> set[str]:
    made = (each for tp, each in books.partitions.items() if tp.topic == topic)
    return {digest for each in made for digest in each.named_changes}


def _names_cluster(change: RecordChange, headers: Collection[str]) -> bool:
    return any(each.name in headers and each.content in _CLUSTERS for each in change.headers)
