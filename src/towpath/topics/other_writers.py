"""Mirror topics that others also write to: other links, and producers after a cutover.

What another link holds back is left as it is, and what this link did not write alone is not
deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import LinkStage
from towpath.ledger.neighbours import Neighbours
from towpath.model.amounts import counted, shortened
from towpath.model.errors import StepOutdatedError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import LinkName, Mode, TopicId, TopicName, TopicPartition
from towpath.plan.subject import Difference
from towpath.runtime.clock import readable
from towpath.settings import LinkConfig
from towpath.topics.configs import POLICY
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import DELETE, UNLIMITED
from towpath.topics.steps import DeleteTopic, SetConfigs, TopicStep

_NAMED = 3
_THEIRS = (
    "stays although the file no longer asks for it: it has records that this link did not write,"
    " as after a cutover; delete it by hand if it is not needed"
)


def without_taken(seen: ObservedTopics, config: LinkConfig, others: Neighbours) -> ObservedTopics:
    """Return the topics, with a problem for each whose mirror topic another link owns.

    The link that opened or created the mirror topic first goes on. A second one would write each
    record twice, or mix records of several sources, unless the file says that this is wanted.
    """
    if config.topics.shared:
        return seen
    taken = []
    for topic in seen.source:
        mirror = seen.target.get(seen.names[topic.name])
        first = others.before(mirror.name, mirror.id) if mirror is not None else None
        if mirror is not None and first is not None:
            taken.append(Problem(topic.name, _taken(mirror.name, first), Cause.OTHER_LINK))
    return replace(seen, problems=(*seen.problems, *taken))


def _taken(mirror: TopicName, first: LinkName) -> str:
    return (
        f"link {first} writes its mirror topic {mirror}, so a second link could write the same"
        f" records again; to continue that copy, set `link: {first}`; to make another copy, change"
        " `topics.rename`; else name the topic under `topics.exclude`, or set `topics.shared: true`"
        " if several links may write there"
    )


_HELD = {POLICY: DELETE}
"""The values of configs while other links hold them back, where they are not limits."""


def beside_neighbours(
    found: Difference[TopicStep], observed: ObservedTopics, others: Neighbours
) -> Difference[TopicStep]:
    """Add notes on other links that write to mirror topics, and keep their withheld configs.

    Else retention would delete old records of the other link as they arrive.
    """
    steps: list[TopicStep] = []
    notes = [
        Note(source, f"link {each.link} also writes to this mirror topic ({mirror.name})")
        for source, mirror in _mirrors(found, observed)
        for each in others.of(mirror.name, mirror.id)
    ]
    for step in found.steps:
        there = observed.target.get(step.target)
        held = _held(there, others) if there and isinstance(step, SetConfigs) else {}
        if isinstance(step, SetConfigs) and held.keys() & step.changes.keys():
            kept = step.only(step.changes.keys() - held.keys())
            notes += (
                Note(
                    step.source,
                    f"{key} of {step.target} stays {_HELD.get(key, UNLIMITED)}, as link {held[key]}"
                    " holds it back"
                    " until its mirror topic has caught up; it is changed after that",
                )
                for key in step.changes
                if key in held
            )
            steps += [kept] if kept.changes else []
        else:
            steps.append(step)
    return replace(found, steps=tuple(steps), notes=(*found.notes, *notes))


def _mirrors(
    found: Difference[TopicStep], observed: ObservedTopics
) -> list[tuple[TopicName, Topic]]:
    """Return the mirror topics that exist, each with its source topic."""
    there = observed.target
    mirrored = [(source, there[name]) for source, name in found.topics.items() if name in there]
    return [*mirrored, *((orphan.source, orphan.mirror) for orphan in observed.orphans)]


def _held(mirror: Topic, others: Neighbours) -> dict[str, LinkName]:
    """Return the configs that other links still withhold from a mirror topic, with such a link."""
    return {
        key: each.link
        for each in others.of(mirror.name, mirror.id)
        for key in each.held
        if mirror.own.get(key) == _HELD.get(key, UNLIMITED)
    }


def spared(found: Difference[TopicStep], books: LinkBooks, target: Admin) -> Difference[TopicStep]:
    """Return the difference without deletions of mirror topics that hold other records.

    Raises:
        ClusterError: No partition can be asked about.
    """
    deletions = [step for step in found.steps if isinstance(step, DeleteTopic)]
    theirs = writes_of_others(deletions, books, target)
    steps = (s for s in found.steps if not isinstance(s, DeleteTopic) or s.target not in theirs)
    notes = (
        Note(step.source, f"its mirror topic {step.target} {_THEIRS}")
        for step in deletions
        if step.target in theirs
    )
    return replace(found, steps=tuple(steps), notes=(*found.notes, *notes))


def without_what_is_over(found: Difference[TopicStep], books: LinkBooks) -> Difference[TopicStep]:
    """Return the difference without steps on topics that failed over, or that somebody stopped.

    The former are their clients'; the latter nobody wants to be made, changed or deleted.
    """
    theirs = [step for step in found.steps if books.closed(step.source) is not None]
    if not theirs:
        return found
    steps = tuple(step for step in found.steps if step not in theirs)
    notes = [
        Note("topics", f"{counted(len(part), 'step')} left out on topics that {why}: {names}")
        for why, stopped in (
            ("failed over, which are their clients' now", False),
            ("were stopped by hand", True),
        )
        if (part := [step for step in theirs if _is_stopped(books, step.source) is stopped])
        for names in [shortened(sorted({step.target for step in part}), _NAMED)]
    ]
    return replace(found, steps=steps, notes=(*found.notes, *notes))


def outdated_as_over(step: TopicStep, books: LinkBooks) -> StepOutdatedError | None:
    """Return why a saved step on a topic that is over would not be planned now, `None` if it may.

    A plan that was saved before a failover knows nothing of it.
    """
    state = books.closed(step.source)
    if state is None:
        return None
    found = f"the state {state.state.replace('_', ' ')}, since {readable(state.since)}"
    return StepOutdatedError(f"topic {step.target}", "the state running", found)


def _is_stopped(books: LinkBooks, topic: TopicName) -> bool:
    state = books.closed(topic)
    return state is not None and state.state == LinkStage.STOPPED


def writes_of_others(
    steps: Iterable[DeleteTopic], books: LinkBooks, target: Admin
) -> frozenset[TopicName]:
    """Return the mirror topics that may hold records which the link did not write.

    After a cutover producers write to the mirror topic, so the link must not delete it.

    Raises:
        ClusterError: No partition can be asked about.
    """
    known = {
        TopicPartition(step.target, number): _end(
            books.partitions.get(TopicPartition(step.source, number), PartitionBooks()), step.id
        )
        for step in steps
        for number in range(step.partitions)
    }
    ends = target.offsets.latest(known) if known else {}
    return frozenset(tp.topic for tp, end in known.items() if ends.get(tp, end + 1) > end)


def _end(books: PartitionBooks, mirror: TopicId) -> int:
    """Return the log end of a partition that only the link wrote to; -1 if others wrote, too."""
    opened = books.opened
    if opened is None or opened.target_topic_id != mirror:
        return 0
    if opened.mode is Mode.MAPPED and opened.target_start > 0:
        return -1
    return books.receipt.target_end if books.receipt is not None else opened.target_start
