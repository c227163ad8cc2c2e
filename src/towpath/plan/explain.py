"""A plan in words and tables. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from towpath.access import steps as access
from towpath.model.findings import Note, beside
from towpath.model.quoting import quoted
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.steps import SUBJECTS, Step
from towpath.topics import steps as topics
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs

_NAMED = 5
_OF_TOPICS = ("step", "topic", "on the target", "partitions", "replicas", "settings")
_OF_OTHERS = ("step", "what", "now", "then", "why")
_VERBS: Mapping[type[Step], str] = {
    CreateTopic: "create",
    AddPartitions: "grow",
    SetConfigs: "set",
    DeleteTopic: "delete",
    access.CreateAcl: "create",
    access.DeleteAcl: "delete",
    access.SetUser: "set",
    access.DeleteUser: "delete",
    access.SetQuota: "set",
    access.RemoveQuota: "remove",
}


@dataclass(frozen=True, slots=True)
class Group:
    """The steps of one subject as a table.

    Attributes:
        title: The subject, and how many steps of which kind.
        headers: Names of the columns.
        rows: One text per column.
        right: Columns that hold numbers.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()


def clusters(plan: Plan) -> list[str]:
    """Return a line per cluster, and the link's name before them."""
    return [
        f"link    {plan.link}",
        f"source  {_cluster(plan.source)}",
        f"target  {_cluster(plan.target)}",
    ]


def summary(plan: Plan) -> str:
    """Return in one line what would be done."""
    done = Counter(type(step) for step in plan.steps)
    changed = {step.source for step in plan.steps if isinstance(step, CreateTopic | AddPartitions)}
    counted = (
        f"{_count(len(plan.topics), 'topic')} to mirror: {done[CreateTopic]} to create,"
        f" {done[AddPartitions]} to grow, {len(plan.topics) - len(changed)} there already"
    )
    further = (step for step in plan.steps if type(step) not in {CreateTopic, AddPartitions})
    others = [f"; {subject}: {verbs(steps)}" for subject, steps in by_subject(further).items()]
    return f"{counted}{''.join(others)}; {_count(len(plan.obstacles), 'problem')}"


def groups(plan: Plan) -> list[Group]:
    """Return a table for each subject that has steps, in the order in which they are done."""
    return [_group(subject, steps) for subject, steps in by_subject(plan.steps).items()]


def by_subject(steps: Iterable[Step]) -> dict[str, list[Step]]:
    """Return steps by subject, without subjects that have none."""
    found: dict[str, list[Step]] = {subject: [] for subject in SUBJECTS}
    for step in steps:
        found[step.subject].append(step)
    return {subject: some for subject, some in found.items() if some}


def verbs(steps: Iterable[Step]) -> str:
    """Return how many steps do what: `3 to create, 1 to grow`."""
    counted = Counter(_VERBS[type(step)] for step in steps)
    return ", ".join(f"{number} to {verb}" for verb, number in counted.items())


def sentence(step: Step) -> str:
    """Return one step in one line."""
    return " ".join(part for part in (_VERBS[type(step)], step.subject[:-1], step.about) if part)


def remarks(plan: Plan) -> list[str]:
    """Return the notes, equal ones once with all that they are about, and then the problems."""
    notes = [
        f"note: {_named(about)}: {beside(_named(about), text)}"
        for text, about in grouped(plan.notes).items()
    ]
    return notes + [f"problem: {obstacle}" for obstacle in plan.obstacles]


def grouped(notes: Iterable[Note]) -> dict[str, list[str]]:
    """Return what each text is about."""
    found: dict[str, list[str]] = {}
    for note in notes:
        found.setdefault(note.text, []).append(note.about)
    return found


def _cluster(facts: ClusterFacts | None) -> str:
    if facts is None:
        return "did not answer"
    where = ", ".join(facts.bootstrap)
    brokers = _count(facts.brokers, "broker")
    who = f", login {quoted(facts.login)}" if facts.login else ""
    return f"{where}: cluster {facts.id}, Kafka {facts.version}, {brokers}{who}"


def _group(subject: str, steps: list[Step]) -> Group:
    title = f"{subject}: {verbs(steps)}"
    of_topics = tuple(_of_topic(step) for step in steps if isinstance(step, topics.Step))
    if of_topics:
        return Group(title, _OF_TOPICS, of_topics, ("partitions", "replicas"))
    others = tuple(_of_other(step) for step in steps if not isinstance(step, topics.Step))
    return Group(title, _OF_OTHERS, others, ("now", "then"))


def _of_topic(step: topics.Step) -> tuple[str, ...]:
    partitions, replicas, settings = "", "", ""
    match step:
        case CreateTopic():
            partitions, settings = str(step.partitions), _settings(step.configs, step.held)
            replicas = "default" if step.replication_factor < 0 else str(step.replication_factor)
        case AddPartitions():
            partitions = f"{step.from_count} to {step.to_count}"
        case SetConfigs():
            settings = " ".join(_changes(step))
        case DeleteTopic():
            partitions = str(step.partitions)
        case _:
            assert_never(step)
    return _VERBS[type(step)], step.source, step.target, partitions, replicas, settings


def _settings(configs: Mapping[str, str], held: Mapping[str, str | None]) -> str:
    texts = [
        f"{key}={value}" + (f" (then {_value(held[key])})" if key in held else "")
        for key, value in sorted(configs.items())
    ]
    return " ".join(texts)


def _changes(step: SetConfigs) -> Iterator[str]:
    for key, value in sorted(step.changes.items()):
        yield f"{key}={_value(value)} (now {_value(step.before.get(key))})"


def _value(value: str | None) -> str:
    return "default" if value is None else value


def _of_other(step: access.Step) -> tuple[str, ...]:
    now, then, why = "", "", ""
    match step:
        case access.CreateAcl():
            why = "" if step.source == step.about else f"of the source: {step.source}"
        case access.SetUser():
            now, then = _iterations(step.had), _iterations(step.iterations)
        case access.DeleteUser():
            now = _iterations(step.had)
        case access.SetQuota():
            now, then = _number(step.had), _number(step.value)
        case access.RemoveQuota():
            now = _number(step.had)
        case access.DeleteAcl():
            pass
        case _:
            assert_never(step)
    return _VERBS[type(step)], step.about, now, then, why


def _iterations(number: int | None) -> str:
    return "" if number is None else f"{number} iterations"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


def _named(about: list[str]) -> str:
    more = len(about) - _NAMED
    return ", ".join(about[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
