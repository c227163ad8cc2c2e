"""What would stop a run, found before it begins; nothing is touched.

Only `ledger` asks the target; the other functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.cluster.connect.exchange import Versions
from towpath.config import LinkConfig
from towpath.ledger import topic as ledger_topic
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Obstacle
from towpath.model.nouns import Side, TopicName
from towpath.topics.observe import Observed

_PRODUCE, _DESCRIBE_PRODUCERS = 0, 61
_PRODUCE_WITH_ZSTD = 7
_ON_LEDGER = (Right.READ, Right.WRITE)


def unmatched_expressions(observed: Observed, config: LinkConfig) -> Iterator[Note]:
    """Tell which expressions match no topic, with the names that come nearest."""
    matched = [topic.name for topic in observed.source]
    matched += [TopicName(obstacle.about) for obstacle in observed.obstacles]
    for expression in config.topics.include:
        if any(re.fullmatch(expression, name) for name in matched):
            continue
        near = get_close_matches(expression, observed.unmatched, n=3, cutoff=0.4)
        hint = f"; the nearest names are {', '.join(near)}" if near else ""
        text = (
            f"{expression!r} matches no topic that the login may describe{hint};"
            " a run mirrors such a topic as soon as there is one"
        )
        yield Note("topics.include", text)


def old_target(versions: Versions) -> Iterator[Obstacle]:
    """Tell what the target's brokers are too old for."""
    newest = versions.get(_PRODUCE, (0, -1))[1]
    if newest < _PRODUCE_WITH_ZSTD:
        text = (
            f"the brokers take Produce requests up to version {newest}, and zstd batches need"
            f" {_PRODUCE_WITH_ZSTD}; upgrade the target to Kafka 2.8 or newer"
        )
        yield Obstacle("target", text, Cause.CLUSTER)
    if _DESCRIBE_PRODUCERS not in versions:
        text = (
            "the brokers do not tell the state of producers (DescribeProducers), from which a run"
            " knows where it stands; upgrade the target to Kafka 2.8 or newer"
        )
        yield Obstacle("target", text, Cause.CLUSTER)


def ledger(target: Admin, brokers: int) -> tuple[list[Note], list[Obstacle]]:
    """Tell whether the ledger's topic could neither be used nor created."""
    found = ledger_topic.find(target)
    if found is None or found.unseen:
        return [], list(_refused_ledger(target, brokers))
    about = ledger_topic.TOPIC
    lacking = target.topics.lacking({about: _ON_LEDGER}).values()
    texts = (*(lacks(Side.TARGET, about, missing) for missing in lacking), *found.faults)
    notes = []
    if found.hidden:
        text = (
            f"{found.hidden}; until then nobody checks that it loses no entries"
            " (cleanup.policy=compact)"
        )
        notes.append(Note(about, text))
    return notes, [Obstacle(about, text, Cause.CLUSTER) for text in texts]


def _refused_ledger(target: Admin, brokers: int) -> Iterator[Obstacle]:
    try:
        ledger_topic.create(target, brokers, validate_only=True)
    except ClusterError as error:
        yield Obstacle(Side.TARGET, str(error), Cause.CLUSTER)
