"""A subject that only this file knows: lamps, which are files in a folder of either side.

It is planned, saved, reviewed, applied, killed behind each step and resumed, and shown, by the plan
machine and the commands as they are.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import pytest

from tests.support.here import Ended, Here
from tests.support.kafka import create_topic
from towpath.access.subject import ACCESS
from towpath.cli.main import main
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Phase
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.commands import apply as apply_command
from towpath.mirror.run.reconcile import reconcile
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import StepOutdatedError, TowpathError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan import kinds as step_kinds
from towpath.plan.kinds import StepKind, StepKinds
from towpath.plan.subject import (
    CheckedSteps,
    Columns,
    Difference,
    Failed,
    SettledStep,
    SubjectContext,
)
from towpath.plan.subjects import Subjects
from towpath.settings import LinkConfig, load
from towpath.topics.subject import TOPICS

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
Lit = Mapping[str, tuple[str, TopicId]]
"""The color and the id of each lamp of one side."""


@dataclass(frozen=True, slots=True)
class LightLamp:
    """Light a lamp, where there is none of this name."""

    subject: ClassVar[str] = "lamps"
    creates: ClassVar[bool] = True

    name: str
    color: str

    @property
    def about(self) -> str:
        """The lamp."""
        return self.name


@dataclass(frozen=True, slots=True)
class PutOutLamp:
    """Put out the lamp that has this id."""

    subject: ClassVar[str] = "lamps"
    creates: ClassVar[bool] = False

    name: str
    id: TopicId

    @property
    def about(self) -> str:
        """The lamp."""
        return self.name


Step = LightLamp | PutOutLamp


def look(folder: Path) -> Lit:
    told = {lamp.name: lamp.read_text().split() for lamp in folder.iterdir()}
    return {name: (color, TopicId(id_)) for name, (color, id_) in told.items()}


def light(folder: Path, name: str, color: str) -> None:
    (folder / name).write_text(f"{color} {uuid4()}")


@dataclass(frozen=True, slots=True)
class Seen:
    source: Lit
    target: Lit
    ours: frozenset[str]


@dataclass(frozen=True, slots=True)
class Client:
    link: OpenLink
    folder: Path

    @property
    def target(self) -> Path:
        return self.folder / "target"

    def observe(self) -> Seen:
        source, target = look(self.folder / "source"), look(self.target)
        made = {
            entry.name
            for entry in self.link.books.journal.values()
            if entry.do == LightLamp.__name__ and entry.owned and entry.phase is Phase.DONE
            if entry.name in target and target[entry.name][1] == entry.topic_id
        }
        return Seen(source, target, frozenset(made))

    def again(self, seen: Seen) -> Seen:
        return replace(self.observe(), source=seen.source)

    def diff(self, seen: Seen, around: SubjectContext) -> Difference[Step]:
        new = [LightLamp(n, c) for n, (c, _) in seen.source.items() if n not in seen.target]
        gone = [PutOutLamp(name, seen.target[name][1]) for name in seen.ours - seen.source.keys()]
        notes = [Note("lamps", f"they shine on {', '.join(sorted(around.topics))}")] if new else []
        return Difference({}, (*new, *gone), tuple(notes))

    def foresee(self, seen: Seen, found: Difference[Step]) -> Iterator[Note | Problem]:
        if found.steps:
            yield Note("lamps", f"there will be {len(seen.source)}")

    def check(self, steps: Sequence[Step]) -> CheckedSteps[Step]:
        return CheckedSteps(tuple(steps))

    def present(self, steps: Sequence[Step]) -> Mapping[str, TopicId]:
        there = look(self.target)
        return {
            step.name: there[step.name][1]
            for step in steps
            if step.name in there
            and not (isinstance(step, PutOutLamp) and there[step.name][1] != step.id)
        }

    def apply(self, steps: Sequence[Step]) -> Changed:
        changed = Changed()
        there = look(self.target)
        for step in steps:
            with changed.about(step.about):
                if isinstance(step, PutOutLamp):
                    (self.target / step.name).unlink()
                elif step.name in there:
                    if there[step.name][0] != step.color:
                        raise StepOutdatedError(step.name, step.color, there[step.name][0])
                    changed.done[step.about] = None
                    continue
                else:
                    light(self.target, step.name, step.color)
                changed.done[step.about] = 0.0
                with (self.folder / "log").open("a") as log:
                    log.write(f"{type(step).__name__} {step.name}\n")
        return changed

    def settle(self, steps: Sequence[Step]) -> Mapping[str, SettledStep]:
        there = look(self.target)
        return {
            step.name: SettledStep(there[step.name][0] == step.color, there[step.name][1])
            for step in steps
            if isinstance(step, LightLamp) and step.name in there
        }

    def owned(self, steps: Sequence[Step]) -> frozenset[str]:
        del steps
        return frozenset()

    def outdated(self, step: Step) -> StepOutdatedError | None:
        return None if isinstance(step, LightLamp) else StepOutdatedError(step.name, "no", "a lamp")


@dataclass
class Lamps:
    """The subject, for folders `source` and `target` in one folder."""

    folder: Path
    open_clients: int = 0
    names: ClassVar[tuple[str, ...]] = ("lamps",)
    kinds: ClassVar[StepKinds] = StepKinds(
        (
            StepKind(step=LightLamp, verb="light", identified=True),
            StepKind(step=PutOutLamp, verb="put out", removes=True, identified=True),
        )
    )
    columns: ClassVar[Columns] = Columns(("lamp", "color"))

    __hash__ = object.__hash__

    @contextmanager
    def client(self, link: OpenLink) -> Iterator[Client]:
        self.open_clients += 1
        yield Client(link, self.folder)
        self.open_clients -= 1

    def interval(self, config: LinkConfig) -> float:
        return config.run.sync_interval

    def held_back(self, steps: Sequence[Step], failed: Failed) -> Mapping[str, TowpathError]:
        del steps, failed
        return {}

    def row(self, step: Step) -> tuple[str, ...]:
        return step.name, step.color if isinstance(step, LightLamp) else ""

    def summary(
        self, steps: Sequence[Step], topics: Mapping[TopicName, TopicName]
    ) -> Iterator[str]:
        if steps:
            yield f"lamps on {len(topics)} topics: {self.kinds.verbs(steps)}"


@dataclass
class World:
    """A link with one topic, and lamps."""

    lamps: Lamps
    file: Path
    topic: str
    here: Here

    @property
    def saved(self) -> str:
        return str(self.file.with_name("plan.json"))

    @property
    def source(self) -> Path:
        return self.lamps.folder / "source"

    @property
    def target(self) -> Path:
        return self.lamps.folder / "target"

    @property
    def log(self) -> list[str]:
        """Every change of a lamp, the oldest first."""
        return (self.lamps.folder / "log").read_text().splitlines()

    def __call__(self, command: str, *arguments: str) -> Ended:
        return self.here(command, *arguments)

    def save(self) -> Ended:
        return self("plan", str(self.file), "--save", self.saved)


@pytest.fixture
def world(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> World:  # fmt: skip
    name = create_topic(source.bootstrap, new_name("lamps"))
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {name}\ntopics: {{include: ['{name}']}}\nprune: true\n"
    )
    lamps = Lamps(tmp_path)
    for side in ("source", "target"):
        (tmp_path / side).mkdir()
    joined = Subjects((TOPICS, ACCESS, lamps))
    for attribute, value in vars(joined).items():
        monkeypatch.setattr(SUBJECTS, attribute, value)
    monkeypatch.setattr(step_kinds, "AT_ONCE", 1)
    return World(lamps, file, name, here)


def colors(folder: Path) -> dict[str, str]:
    return {name: color for name, (color, _) in look(folder).items()}


def killed_behind_one(saved: str) -> bool:
    """Apply in a process that dies behind its first step; return whether it had one to do."""

    def apply() -> None:
        # The journal does not say yet that the step is done.
        vars(apply_command)["show_step"] = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        os._exit(main(["apply", saved, "--yes"]))

    process = multiprocessing.get_context("fork").Process(target=apply)
    process.start()
    process.join(60)
    assert process.exitcode in {-signal.SIGKILL, 0}
    return process.exitcode != 0


def test_it_is_shown_saved_killed_behind_each_step_and_resumed(world: World) -> None:
    for name, color in (("red-one", "red"), ("blue-one", "blue"), ("red-two", "red")):
        light(world.source, name, color)
    shown = world.save()
    assert shown.code == 0, shown.said
    assert "lamps: 3 to light" in shown.out
    assert "lamp " in shown.out
    assert f"note: lamps: they shine on {world.topic}" in shown.out
    assert "note: lamps: there will be 3" in shown.out
    assert "lamps on 1 topics: 3 to light; 0 problems" in shown.out
    markdown = world("diff", str(world.file), "--output", "markdown")
    assert (markdown.code, "| `light` | `blue-one` | `blue` |" in markdown.out) == (3, True)
    assert world.target.exists()
    assert look(world.target) == {}
    kills = 0
    while killed_behind_one(world.saved):
        kills += 1
        assert len(look(world.target)) <= kills
    assert kills >= 4, "a topic and three lamps"
    world.here.shown.readouterr()  # what those processes printed
    last = world("apply", world.saved, "--yes", "--output", "json")
    assert (last.code, last.json["complete"]) == (0, True), last.said
    assert colors(world.target) == colors(world.source)
    assert sorted(world.log) == ["LightLamp blue-one", "LightLamp red-one", "LightLamp red-two"]
    assert world("diff", str(world.file)).code == 0
    assert world.lamps.open_clients == 0
    # Wherever it was killed, all of it is the link's own and may be removed.
    for name in look(world.source):
        (world.source / name).unlink()
    assert "lamps on 1 topics: 3 to put out" in world("diff", str(world.file)).out


def test_a_saved_plan_is_reviewed_and_only_what_is_ours_is_removed(world: World) -> None:
    light(world.target, "stranger", "green")
    for name in ("one", "two"):
        light(world.source, name, "red")
    assert world("apply", str(world.file), "--yes", "--only", "lamps").code == 0
    for name in ("one", "two"):
        (world.source / name).unlink()
    assert "2 to put out" in world.save().out
    light(world.source, "one", "red")
    reviewed = world("apply", world.saved, "--yes", "--only", "lamps", "--output", "json")
    assert reviewed.code == 3
    assert [step["name"] for step in reviewed.json["done"]] == ["two"]
    [refused] = reviewed.json["failed"]
    assert (refused["name"], refused["code"]) == ("one", "STEP_OUTDATED")
    assert look(world.target).keys() == {"one", "stranger"}


def test_a_run_does_its_steps_too(world: World) -> None:
    light(world.source, "one", "red")
    with open_link(load(world.file)) as link:
        link.prepare()
        made = reconcile(link)
    assert {type(step).__name__ for step in made.outcome.done} == {"CreateTopic", "LightLamp"}
    assert colors(world.target) == {"one": "red"}
