"""Whether the target can keep the ledger, found before anything is written to it."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.ledger import topic as ledger_topic
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side

_ON_LEDGER = (Right.READ, Right.WRITE)


def ledger(target: Admin, brokers: int) -> tuple[list[Note], list[Problem]]:
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
    return notes, [Problem(about, text, Cause.CLUSTER) for text in texts]


def _refused_ledger(target: Admin, brokers: int) -> Iterator[Problem]:
    try:
        ledger_topic.create(target, brokers, validate_only=True)
    except ClusterError as error:
        yield Problem(Side.TARGET, str(error), Cause.CLUSTER)
