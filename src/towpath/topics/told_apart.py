"""Links in both directions that tell the records of both sides apart by a header. Pure."""

from __future__ import annotations

from collections.abc import Collection

from towpath.ledger.books import LinkBooks
from towpath.model.changes import NO_CHANGE, DropRule, HeaderContent
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


def marks(books: LinkBooks, topic: TopicName, headers: Collection[str]) -> bool:
    """Return whether a link always wrote to one of these headers where records come from."""
    made = (each for tp, each in books.partitions.items() if tp.topic == topic)
    digests = {digest for each in made for digest in each.named_changes}
    changes = [books.changes.get(each, NO_CHANGE) for each in digests]
    return bool(changes) and all(
        any(each.name in headers and each.content in _CLUSTERS for each in change.headers)
        for change in changes
    )
