"""Forecasts of deletions on the target, which runs of the link have stored."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Foretold
from towpath.ledger.entries.foretold import kept_back
from towpath.model.amounts import counted, shortened
from towpath.model.at_risk import AtRisk, at_risk_text, unforeseen_text, why_at_risk
from towpath.model.deleted import DeletedRecords
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import sentence
from towpath.runbook import pointers
from towpath.settings import LinkConfig

_SOME = 3


def foretold(config: LinkConfig, books: LinkBooks) -> tuple[Foretold, ...]:
    """Return the stored forecasts for selected topics, by topic."""
    known = sorted(books.foretold.items())
    return tuple(entry for topic, entry in known if config.topics.matches(topic))


def withheld_forecasts(config: LinkConfig, books: LinkBooks) -> tuple[Foretold, ...]:
    """Return the forecasts that keep retention or compaction withheld now."""
    return tuple(entry for entry in foretold(config, books) if entry.kept)


def kept_lines(entries: Iterable[Foretold]) -> Iterator[str]:
    """Yield a line for each reason, with the mirror topics whose cleanup stays withheld."""
    alike: dict[str, list[Foretold]] = defaultdict(list)
    for entry in entries:
        if entry.kept:
            alike[entry.reason].append(entry)
    for reason, held in alike.items():
        some = shortened([entry.topic for entry in held], _SOME)
        offsets = at_risk_text(sum(entry.offsets for entry in held))
        yield (
            f"{kept_back(held[0].reasons)} stays held back on the mirror topics of"
            f" {counted(len(held), 'topic')} ({some}): {reason};"
            f" {offsets}; `topics.may_delete` releases it"
        )
    yield from pointers(
        code for held in alike.values() for reason in held[0].reasons for code in reason.codes
    )


def risk_lines(found: Iterable[AtRisk]) -> Iterator[str]:
    """Yield a line for each reason, with the topics whose mirror topics keep less."""
    alike: dict[str, list[AtRisk]] = defaultdict(list)
    for each in found:
        alike[sentence(each.reasons)].append(each)
    for topics in alike.values():
        some = shortened([each.topic for each in topics], _SOME)
        offsets = sum(each.offsets for each in topics)
        yield (
            f"the target keeps less than the source of {counted(len(topics), 'topic')} ({some}):"
            f" {why_at_risk(topics[0].reasons, offsets)}"
        )
    yield from pointers(
        code for topics in alike.values() for reason in topics[0].reasons for code in reason.codes
    )


def unforeseen_lines(unknown: Mapping[TopicName, str]) -> Iterator[str]:
    """Yield a line for each reason why nobody knows what the target may delete, with the topics."""
    alike: dict[str, list[TopicName]] = defaultdict(list)
    for topic, why in unknown.items():
        whole_name = rf"(?<![\w.-]){re.escape(topic)}(?![\w.-])"
        alike[re.sub(whole_name, "TOPIC", why)].append(topic)
    for why, topics in alike.items():
        some = shortened(topics, _SOME)
        text = unforeseen_text(unknown[topics[0]] if len(topics) == 1 else why)
        yield f"{counted(len(topics), 'topic')} ({some}): {text}"


def with_foretold(books: LinkBooks, tp: TopicPartition, found: DeletedRecords) -> DeletedRecords:
    """Return the deleted records of a partition, and whether a forecast covered them."""
    entry, opened = books.foretold.get(tp.topic), books.of(tp).opened
    if entry is None or opened is None or entry.target_id != opened.target_topic_id:
        return found
    ends = found.first, found.end - 1
    return replace(found, foretold=all(entry.covers(tp.partition, each) for each in ends))
