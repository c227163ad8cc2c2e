"""Mirror topics that other links also write to. Pure."""

from __future__ import annotations

from dataclasses import replace

from towpath.ledger.neighbours import Neighbours
from towpath.model.findings import Note
from towpath.model.nouns import LinkName, TopicName
from towpath.plan.subject import Difference
from towpath.topics.observe import ObservedTopics, Topic
from towpath.topics.ours import UNLIMITED
from towpath.topics.steps import SetConfigs, TopicStep


def beside_neighbours(
    found: Difference[TopicStep], observed: ObservedTopics, others: Neighbours
) -> Difference[TopicStep]:
    """Tell of other links that write to mirror topics; leave what they hold back as it is.

    Else old records that they copy would be deleted as they arrive.
    """
    steps: list[TopicStep] = []
    notes = [
        Note(source, f"link {each.link} writes to this mirror topic, too ({copy.name})")
        for source, copy in _copies(found, observed)
        for each in others.of(copy.name, copy.id)
    ]
    for step in found.steps:
        there = observed.target.get(step.target)
        held = _held(there, others) if there and isinstance(step, SetConfigs) else {}
        if isinstance(step, SetConfigs) and held.keys() & step.changes.keys():
            kept = step.only(step.changes.keys() - held.keys())
            notes += (
                Note(
                    step.source,
                    f"{key} of {step.target} stays {UNLIMITED}, as link {held[key]} holds it back"
                    " until its mirror topic has caught up; it is changed behind that",
                )
                for key in step.changes
                if key in held
            )
            steps += [kept] if kept.changes else []
        else:
            steps.append(step)
    return replace(found, steps=tuple(steps), notes=(*found.notes, *notes))


def _copies(
    found: Difference[TopicStep], observed: ObservedTopics
) -> list[tuple[TopicName, Topic]]:
    """Return the mirror topics that are there, each behind its topic of the source."""
    there = observed.target
    mirrored = [(source, there[name]) for source, name in found.topics.items() if name in there]
    return [*mirrored, *((orphan.source, orphan.copy) for orphan in observed.orphans)]


def _held(copy: Topic, others: Neighbours) -> dict[str, LinkName]:
    """Return what other links hold back of a mirror topic still, each with one of them."""
    return {
        key: each.link
        for each in others.of(copy.name, copy.id)
        for key in each.held
        if copy.own.get(key) == UNLIMITED
    }
