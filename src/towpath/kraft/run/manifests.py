"""The steps of a migration as files, for doing them by hand with `kubectl`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.decide.outline import Outline, PlannedStep
from towpath.kraft.facts.nouns import Goal
from towpath.kraft.facts.seen import Observation
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held, NodeObjects
from towpath.kraft.reach.kubernetes.node_place import ObjectKind, hold_name
from towpath.kraft.reach.kubernetes.objects import held_in, kind_and_name
from towpath.kraft.reach.kubernetes.pod_node import PodNode
from towpath.kraft.reach.kubernetes.yaml_text import yaml_text
from towpath.kraft.steps.step import KraftStep

STEPS = "steps.md"
_HEAD = """\
# Steps of the migration {name}

Do them in this order, in this folder, one by one. Behind each one look at `towpath kraft status`:
go on when the cluster is in the stage that the step names, and all replicas are in sync. Steps
without commands are done by {command}, which also goes on from whatever was done by hand.
Files hold whole properties files, with their passwords: keep this folder as safe as the objects.
"""
_UNKNOWN = """\
It is not known who else keeps {objects}: export with `--show-managed-fields`, or make sure that
nothing applies them again until the migration is over (GitOps, Helm).
"""


_COMMANDS = {Goal.DUAL_WRITE: "run", Goal.FINAL: "finalize", Goal.ZOOKEEPER: "rollback"}


def manifests(
    config: KraftConfig,
    seen: Observation,
    drivers: Iterable[object],
    planned: Outline,
    goal: Goal,
) -> dict[str, str]:
    """Return the files for doing the forecast steps by hand; see `pages`.

    Args:
        config: The file, whose driver is that of Kubernetes.
        seen: The cluster.
        drivers: Those of its nodes.
        planned: The steps.
        goal: Where they lead to.

    Raises:
        StepRefusedError: The properties of a step cannot be made.
        DriverError: The objects of a node cannot be seen, or are not ours to touch.
    """
    driver = config.driver
    nodes = [each for each in drivers if isinstance(each, PodNode)]
    if not nodes or not isinstance(driver, KubernetesDriver):
        return {}
    held = held_in(nodes[0].get(ObjectKind.CONFIG_MAP, hold_name(config.kraft)))
    there = {each.place.node: NodeObjects.of(each) for each in nodes}
    get = nodes[0].get
    book = HandBook(config, driver, seen, there, lambda made: get(*kind_and_name(made)))
    return pages(book, planned, held, f"towpath kraft {_COMMANDS[goal]} FILE")


def pages(book: HandBook, outline: Outline, held: Held, command: str) -> dict[str, str]:
    """Return all files to write, by name: steps, ways back, and objects to apply.

    Args:
        book: Says how steps are done by hand.
        outline: The steps.
        held: The pods that are held back now.
        command: The command of Towpath that leads to the same goal.

    Raises:
        StepRefusedError: The properties of a step cannot be made.
    """
    lines = [_HEAD.format(name=book.config.kraft, command=f"`{command}`")]
    told: dict[str, str] = {}
    for number, planned in enumerate(outline.steps, 1):
        if planned.last_chance:
            lines.append("**From here on nothing leads back.**\n")
        text, held = _step(book, number, planned.step, held, command)
        lines += [text, f"Stage behind it: `{planned.expected}`.\n"]
        back = f"back-from-{number:03}.md"
        lines.append(f"Way back from behind it: [{back}]({back}).\n" if planned.undo else "")
        if planned.undo:
            told[back] = _back(book, number, planned, held)
    lines += [f"No further: {each}\n" for each in outline.refusals]
    if book.unknown:
        lines.insert(1, _UNKNOWN.format(objects=", ".join(sorted(book.unknown))))
    files = {name: yaml_text(objects) for name, objects in book.files.items()}
    return {STEPS: "\n".join(filter(None, lines)), **told, **files}


def _back(book: HandBook, number: int, planned: PlannedStep, held: Held) -> str:
    command = "towpath kraft rollback FILE"
    lines = [f"# Way back from behind step {number}: {planned.sentence}\n"]
    for each, step in enumerate(planned.undo, 1):
        text, held = _step(book, each, step, held, command)
        lines.append(text)
    return "\n".join(lines)


def _step(
    book: HandBook, number: int, step: KraftStep, held: Held, command: str
) -> tuple[str, Held]:
    commands, held = step.by_hand(book, held)
    head = f"## {number}. {step.sentence}\n"
    if not commands:
        return f"{head}\n`{command}` does this step.\n", held
    return "\n".join((head, "```sh", *commands, "```\n")), held


def write_pages(folder: Path, told: Mapping[str, str]) -> None:
    """Write files into a new or empty folder, readable only by their owner.

    Raises:
        OSError: The folder is not empty, or cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise FileExistsError(17, "the folder is not empty, and an older plan must not mix in")
    for name, text in told.items():
        path = folder / name
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
