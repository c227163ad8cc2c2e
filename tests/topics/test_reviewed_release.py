"""A saved plan that releases what was held back is looked at again; without any cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.subjects.topic_models import observed, topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Foretold
from towpath.ledger.link import OpenLink
from towpath.model.errors import StepOutdatedError
from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.plan.review import Review
from towpath.plan.subjects import SubjectClients
from towpath.topics.foresight import Foresight
from towpath.topics.holds import HeldTopic
from towpath.topics.observed import ObservedTopics
from towpath.topics.steps import KINDS, SetConfigs
from towpath.topics.subject import TopicClient

NAME, NAME_OF_LINK = TopicName("orders"), LinkName("link")
TIGHTER = Reason.of(
    ReasonCode.RETENTION_TIGHTER, key="retention.ms", theirs="5", ours="9", by="override.x"
)
COMPACTS = Reason.of(
    ReasonCode.COMPACTION_TIGHTER, key="cleanup.policy", theirs="compact", ours="delete", by=""
)


def release(**values: str) -> SetConfigs:
    """Return a step that gives configs, with `_` for `.`, the values that were held back."""
    changes = {key.replace("_", "."): value for key, value in values.items()}
    before: dict[str, str | None] = dict.fromkeys(changes, "-1")
    return SetConfigs(
        source=NAME, target=NAME, set=changes, remove=(), before=before, id=TopicId("id-orders")
    )


@dataclass
class Link:
    """Keeps what is written to the ledger."""

    name: LinkName = NAME_OF_LINK
    entries: list[Foretold] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.books, self.ledger = LinkBooks(self.name), self

    def append(self, entries: Iterable[Foretold]) -> None:
        self.entries += entries


class Client(TopicClient):
    """Sees what a test wants it to see, and counts how often it looks."""

    looks = 0

    def observe(self) -> Any:
        Client.looks += 1
        return SimpleNamespace(topics=SEEN[0])

    def foreseen(self, held: Mapping[TopicName, HeldTopic]) -> dict[TopicName, Foresight]:
        """Foresee the same as a test wants, and note with which configs."""
        FINAL[:] = [dict(each.final) for each in held.values()]
        return {name: SEEN[0].foresights[name] for name in held}


SEEN: list[ObservedTopics] = []
FINAL: list[dict[str, str]] = []


def reviewed(*steps: SetConfigs, foreseen: Foresight | None) -> tuple[list[str], list[Foretold]]:
    """Return why steps of a saved plan are refused, and what goes to the ledger."""
    found = {} if foreseen is None else {NAME: foreseen}
    SEEN[:] = [replace(observed(topic(), target=(topic(),)), foresights=found)]
    link, Client.looks = Link(), 0
    client = Client(cast("OpenLink", link))
    clients = SimpleNamespace(subjects=SimpleNamespace(kinds=KINDS), outdated=client.outdated)
    review = Review(cast("SubjectClients", clients), steps, saved=True)
    refused = []
    for step in steps:
        try:
            review.require(step)
        except StepOutdatedError as error:
            refused.append(str(error))
    assert Client.looks <= 1
    return refused, link.entries


def test_a_release_that_would_delete_more_by_now_is_refused_and_written_down() -> None:
    (text,), (entry,) = reviewed(
        release(retention_ms="5"), foreseen=Foresight((TIGHTER,), {0: (3, 7)})
    )
    assert text.startswith(
        "target: topic orders changed since this was planned: it should have nothing that only the"
        " target would delete and has some (retention.ms would be 5 on the target and is 9"
    )
    assert "up to 4 offsets that the source has would go at once" in text
    assert text.endswith("then plan again")
    assert FINAL[0]["retention.ms"] == "5"  # as the step leaves it, whatever the source has now
    assert (entry.topic, entry.kept, entry.ranges) == (NAME, True, ((0, 3, 7),))


@pytest.mark.parametrize("meant", [False, True])
def test_a_release_that_still_holds_is_done_and_what_goes_is_written_down(meant: bool) -> None:
    reasons = (TIGHTER,) if meant else ()
    foreseen = Foresight(reasons, {0: (3, 7)}, meant=meant)
    refused, (entry,) = reviewed(release(retention_ms="5"), foreseen=foreseen)
    assert not refused
    assert (entry.kept, entry.meant, entry.offsets) == (False, meant, 4)


def test_steps_that_release_nothing_pass_without_a_word() -> None:
    assert reviewed(release(retention_ms="5"), foreseen=None) == ([], [])
    refused, _ = reviewed(release(segment_ms="5"), foreseen=Foresight((TIGHTER,), {0: (3, 7)}))
    assert not refused
    assert Client.looks == 0  # nobody is asked for what nothing depends on


def test_a_policy_is_refused_for_compaction_alone() -> None:
    step = release(cleanup_policy="compact")
    assert not reviewed(step, foreseen=Foresight((TIGHTER,), {0: (3, 7)}))[0]
    (text, _), _ = reviewed(step, step, foreseen=Foresight((COMPACTS,), {0: (3, 7)}))
    assert "(delete): the plan says so" in text
