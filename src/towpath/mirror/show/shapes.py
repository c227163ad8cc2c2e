"""Types that several JSON outputs about links share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict

from towpath.ledger.entries import LinkState
from towpath.model.at_risk import AtRisk
from towpath.model.deleted import DeletedRecords
from towpath.model.json_shapes import shape
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import as_data


@shape
class DeletedJson(TypedDict):
    """Records that the target deleted and the source still has."""

    first: int
    """The source offset of the first one."""
    end: int
    """The source offset after the last one."""
    records: int
    exact: bool
    """Whether they were counted; otherwise `records` is an upper bound."""
    due: int
    """How many of them the source's own retention deletes soon."""
    why: list[str]
    """What deleted them: configs or requests."""
    foretold: bool
    meant: bool
    """Whether the file or an option allows it."""


@shape
class AtRiskJson(TypedDict):
    """A topic whose mirror may lose records that the source has, as nothing is withheld."""

    topic: str
    reasons: list[dict[str, Any]]
    """Each with its `code`, and its values by name."""
    ranges: list[tuple[int, int, int]]
    """Partition, first source offset that may go now, and the offset after the last."""
    offsets: int
    reason: str


def risks_as_json(found: Iterable[AtRisk]) -> list[AtRiskJson]:
    """Return the topics at risk of deletions, for programs."""
    return [
        AtRiskJson(
            topic=each.topic,
            reasons=[as_data(reason) for reason in each.reasons],
            ranges=[(number, first, end) for number, (first, end) in sorted(each.ranges.items())],
            offsets=each.offsets,
            reason=str(each),
        )
        for each in found
    ]


@shape
class StateJson(TypedDict):
    """The state of a link, or of one of its topics."""

    topic: str | None
    """The source topic, `null` for the whole link."""
    state: str
    """`running`, `draining`, `sealed`, `failed_over`, `reversed`, `stopped` or `removed`."""
    since: int
    """When the link got into this state, in ms since 1970; 0 where it was never moved."""
    user: str
    host: str
    deadline: int | None
    """When somebody has to look if the next state is not reached, in ms since 1970."""
    waits_for: str | None
    """What it waits for: `drain`, `fences`, `groups` or `books`."""
    attempt: int
    """How often a failover has begun."""
    forward: bool
    """Whether something is written that stays, so that only the way on is left."""
    lost: int | None
    """Source offsets that were not mirrored, `null` for unknown."""
    again: int | None
    """Records that groups read twice, `null` for unknown."""
    unfenced: int
    """Partitions where late writes of an older mirror cannot be refused."""
    back: str | None
    """The link that copies back."""


def state_as_json(state: LinkState) -> StateJson:
    """Return the state of a link for programs."""
    return StateJson(
        topic=state.topic or None,
        state=state.state,
        since=state.since,
        user=state.user,
        host=state.host,
        deadline=state.deadline or None,
        waits_for=state.waits_for or None,
        attempt=state.attempt,
        forward=state.forward,
        lost=None if state.lost < 0 else state.lost,
        again=None if state.again < 0 else state.again,
        unfenced=state.unfenced,
        back=state.back or None,
    )


def deleted_as_json(found: DeletedRecords) -> DeletedJson:
    """Return the records that the target deleted, for programs."""
    return DeletedJson(
        first=found.first,
        end=found.end,
        records=found.records,
        exact=found.exact,
        due=found.due,
        why=list(map(str, found.why)),
        foretold=found.foretold,
        meant=found.meant,
    )


@shape
class PlaceJson(TypedDict):
    """A partition of a topic."""

    topic: str
    partition: int


def place_as_json(tp: TopicPartition) -> PlaceJson:
    """Return a partition for programs."""
    return PlaceJson(topic=tp.topic, partition=tp.partition)
