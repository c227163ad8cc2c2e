"""Plans as text and tables for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from towpath.model.amounts import counted, shortened, size
from towpath.model.findings import Heading, Note, without_side
from towpath.model.quoting import quoted
from towpath.plan.kinds import Step, StepKinds
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.subjects import Subjects

_NAMED = 5
_LARGEST = 20


@dataclass(frozen=True, slots=True)
class Group:
    """The steps of one subject as a table.

    Attributes:
        title: The subject, and the number of steps of each kind.
        headers: The names of the columns.
        rows: The rows, with one text per column.
        right: The columns that hold numbers.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()


def clusters(plan: Plan) -> list[str]:
    """Return a line with the link's name, and one for each cluster."""
    return [
        f"link    {plan.link}",
        f"source  {_cluster(plan.source)}",
        f"target  {_cluster(plan.target)}",
    ]


def copying(plan: Plan) -> list[str]:
    """Return a few lines about the bytes and time that copying takes."""
    told = plan.to_copy.lines() if plan.to_copy else ()
    return [f"{name:<8} {text}" for name, text in told]


def largest(plan: Plan) -> Group | None:
    """Return a table of the topics with the most bytes to copy."""
    topics = [each for each in (plan.to_copy.topics if plan.to_copy else ()) if each.bytes]
    if not topics:
        return None
    shown = topics[:_LARGEST]
    more = f", the largest {len(shown)} of {len(topics)}" if len(shown) < len(topics) else ""
    return Group(
        f"to copy, by topic{more}",
        ("topic", "to copy", "held", "on the target"),
        tuple(
            (each.topic, size(each.bytes), size(each.held), size(each.bytes * each.replicas))
            for each in shown
        ),
        ("to copy", "held", "on the target"),
    )


def summary(plan: Plan, subjects: Subjects) -> str:
    """Return one line about all steps of the plan."""
    parted = subjects.parted(plan.steps)
    told = [
        text
        for subject in subjects
        for text in subject.summary(parted.get(subject, ()), plan.topics)
    ]
    return "; ".join((*told, counted(len(plan.problems), "problem")))


def groups(plan: Plan, subjects: Subjects) -> list[Group]:
    """Return a table for each subject that has steps, in the order of application."""
    found: dict[str, list[Step]] = {name: [] for name in subjects.names}
    for step in plan.steps:
        found[step.subject].append(step)
    return [_group(name, steps, subjects) for name, steps in found.items() if steps]


def sentence(step: Step, kinds: StepKinds) -> str:
    """Return a step as one line."""
    parts = kinds.of(step).verb, step.subject[:-1], step.about
    return " ".join(part for part in parts if part)


def remarks(plan: Plan) -> list[str]:
    """Return the notes, grouped by heading, then the problems.

    Notes with the same text become one line.
    """
    told: list[str] = []
    for section, notes in by_heading(plan.notes).items():
        told += [f"{section}:"] if section else []
        told += [
            f"{'  ' if section else 'note: '}{_named(about)}: {without_side(_named(about), text)}"
            for text, about in grouped(notes).items()
        ]
    return told + [f"problem: {problem}" for problem in plan.problems]


def by_heading(notes: Iterable[Note]) -> dict[Heading, list[Note]]:
    """Return the notes by heading, those without a heading first."""
    found: dict[Heading, list[Note]] = {section: [] for section in Heading}
    for note in notes:
        found[note.section].append(note)
    return {section: some for section, some in found.items() if some}


def grouped(notes: Iterable[Note]) -> dict[str, list[str]]:
    """Return the subjects of notes by text, so that equal notes become one."""
    found: dict[str, list[str]] = {}
    for note in notes:
        found.setdefault(note.text, []).append(note.about)
    return found


def _cluster(facts: ClusterFacts | None) -> str:
    if facts is None:
        return "did not answer"
    where = ", ".join(facts.bootstrap)
    brokers = counted(facts.brokers, "broker")
    who = f", login {quoted(facts.login)}" if facts.login else ""
    return f"{where}: cluster {facts.id}, Kafka {facts.version}, {brokers}{who}"


def _group(name: str, steps: Sequence[Step], subjects: Subjects) -> Group:
    subject, kinds = subjects.of(steps[0]), subjects.kinds
    return Group(
        f"{name}: {kinds.verbs(steps)}",
        ("step", *subject.columns.headers),
        tuple((kinds.of(step).verb, *subject.row(step)) for step in steps),
        subject.columns.right,
    )


def _named(about: list[str]) -> str:
    return shortened(about, _NAMED)
