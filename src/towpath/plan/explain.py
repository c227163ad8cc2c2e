"""A plan in words and rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from towpath.plan.model import ClusterFacts, Plan
from towpath.topics.findings import Note
from towpath.topics.steps import AddPartitions, CreateTopic, Step

HEADERS = ("step", "topic", "on the target", "partitions", "replicas", "settings")
_NAMED = 5


def clusters(plan: Plan) -> list[str]:
    """Return a line per cluster, and the link's name before them."""
    return [
        f"link    {plan.link}",
        f"source  {_cluster(plan.source)}",
        f"target  {_cluster(plan.target)}",
    ]


def summary(plan: Plan) -> str:
    """Return in one line what would be done."""
    created = sum(isinstance(step, CreateTopic) for step in plan.steps)
    grown = len(plan.steps) - created
    ready = len(plan.topics) - len(plan.steps)
    return (
        f"{_count(len(plan.topics), 'topic')} to mirror: {created} to create, {grown} to grow,"
        f" {ready} there already; {_count(len(plan.obstacles), 'problem')}"
    )


def rows(plan: Plan) -> list[tuple[str, ...]]:
    """Return a row under `HEADERS` per step, those that create before those that let grow."""
    ordered = sorted(plan.steps, key=lambda step: (isinstance(step, AddPartitions), step.source))
    return [_row(step) for step in ordered]


def remarks(plan: Plan) -> list[str]:
    """Return the notes, equal ones once with all of their topics, and then the problems."""
    notes = [f"note: {_named(about)}: {text}" for text, about in _grouped(plan.notes).items()]
    return notes + [f"problem: {obstacle.about}: {obstacle.text}" for obstacle in plan.obstacles]


def _cluster(facts: ClusterFacts | None) -> str:
    if facts is None:
        return "did not answer"
    where = ", ".join(facts.bootstrap)
    brokers = _count(facts.brokers, "broker")
    return f"{where}: cluster {facts.id}, Kafka {facts.version}, {brokers}"


def _row(step: Step) -> tuple[str, ...]:
    match step:
        case CreateTopic():
            return (
                "create", step.source, step.target, str(step.partitions),
                str(step.replication_factor), _settings(step.configs),
            )  # fmt: skip
        case AddPartitions():
            return "grow", step.source, step.target, f"{step.from_count} to {step.to_count}", "", ""
        case _:
            assert_never(step)


def _settings(configs: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(configs.items()))


def _grouped(notes: Iterable[Note]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for note in notes:
        grouped.setdefault(note.text, []).append(note.about)
    return grouped


def _named(about: list[str]) -> str:
    more = len(about) - _NAMED
    return ", ".join(about[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
