"""The display of a migration for people: state, steps, findings, and result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group, RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import console, line
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.next_steps import next_steps
from towpath.kraft.decide.outline import Outline, PlannedStep
from towpath.kraft.facts.nouns import Stage
from towpath.kraft.facts.seen import NodeSeen, Observation
from towpath.kraft.findings.codes import Severity
from towpath.kraft.findings.findings import Finding, several
from towpath.kraft.run.loop import RunEnd
from towpath.kraft.show.data import change_lines, findings_of_nodes, kip_name
from towpath.kraft.standing.alarms import behind, states_not_made
from towpath.kraft.standing.states import KraftStanding
from towpath.model.amounts import count, counted, span
from towpath.runtime.clock import now_ms, readable

_SIGNS = {Severity.STOP: "✗", Severity.WARNING: "!", Severity.NOTE: "·"}
_DIFFERENCES = 20
"""Most differences that are shown one by one; JSON has all."""


def findings_picture(findings: Iterable[Finding]) -> RenderableType:
    """Return the picture of the findings of a check."""
    found = tuple(findings)
    lines = _found(found)
    if not any(each.severity is Severity.STOP for each in found):
        lines.append("✓ nothing was found that would stop the migration")
    return Group(*map(line, lines))


def notes_picture(findings: Iterable[Finding]) -> RenderableType:
    """Return the picture of findings to show before steps begin."""
    return Group(*map(line, _found(findings)))


def _found(findings: Iterable[Finding]) -> list[str]:
    found = sorted(findings, key=lambda each: list(Severity).index(each.severity))
    return [f"{_SIGNS[each.severity]} {each}" for each in found]


def standing_text(standing: KraftStanding) -> str:
    """Return a stage with the state of KIP-866, and the value of Kafka's own metric."""
    kip = "no state of KIP-866"
    if standing.kip is not None:
        kip = f"{kip_name(standing)} of KIP-866"
    metric = "" if standing.metric is None else f"; Kafka's own metric says {standing.metric}"
    return f"stage {standing.stage}: {kip}{metric}"


def status_picture(facts: Facts) -> RenderableType:
    """Return the picture of the state of a migration."""
    nodes = (*facts.brokers, *facts.controllers)
    grid = Grid(
        ("node", "role", "runs", "mode", "flag", "leads"),
        [
            (
                str(each.id),
                each.role.value,
                "yes" if each.running else "no",
                each.mode or "",
                {True: "yes", False: "no", None: ""}[each.flag],
                _leads(facts, each),
            )
            for each in nodes
        ],
        right=("node",),
    )
    return Group(line(standing_text(facts.standing)), *map(line, _lines(facts)), grid)


def _leads(facts: Facts, node: NodeSeen) -> str:
    if node.id == facts.leader:
        return "the quorum"
    led = facts.leaders.get(node.id, 0)
    return counted(led, "partition") if led else ""


def _lines(facts: Facts) -> Iterator[str]:
    standing, seen = facts.standing, facts.seen
    yield from (f"✗ {each}" for each in (*standing.alarms, *standing.doubts))
    left = standing.stage is Stage.FINAL and seen.zookeeper is None
    if left:
        yield "· ZooKeeper does not answer, and no node of this cluster needs it any more"
    yield from (
        f"✗ {each.what} could not be looked at: {each.why}"
        for each in seen.unseen
        if not (left and each.what == "ZooKeeper")
    )
    yield from _found(findings_of_nodes(facts))
    if seen.health is not None:
        for text, some in (
            ("offline", seen.health.offline),
            ("not in sync", seen.health.under_replicated),
        ):
            if some:
                yield f"! {counted(len(some), 'partition')} {text}: {', '.join(some[:5])}"
    if seen.zookeeper is not None:
        yield from (f"! {each.path}: {each.why}" for each in seen.zookeeper.odd)
        yield f"· ZooKeeper was read in {span(seen.zookeeper.seconds)}{_ensemble(facts)}"
    if seen.ensemble is not None:
        yield from (
            f"! server {each.address} of ZooKeeper does not serve: {each.why}"
            for each in seen.ensemble.away
        )
    if seen.log is not None:
        yield from (
            f"! {count(n)} records not understood: {what}" for what, n in seen.log.unread.items()
        )
    if seen.comparison is not None:
        things, written = sum(seen.comparison.compared.values()), not _unwritten(seen)
        yield from _compared(seen.comparison.differences, things, written=written)
        if seen.comparison.unproven:
            named = several(seen.comparison.unproven)
            yield f"! encoded passwords that both stores have, not known if the same: {named}"
    yield from (f"→ next: {each}" for each in next_steps(facts))


def _ensemble(facts: Facts) -> str:
    servers = facts.seen.ensemble
    if servers is None:
        return ""
    return f"; {servers.voting} of {servers.size} voting servers serve, {servers.spare} to spare"


def _unwritten(seen: Observation) -> bool:
    return behind(seen) or bool(states_not_made(seen))


def _compared(differences: tuple[Any, ...], things: int, *, written: bool) -> Iterator[str]:
    if not differences and not written:
        yield f"! {count(things)} things are equal, and changes do not arrive: see above"
    elif not differences:
        yield f"✓ ZooKeeper and the metadata log are equal: {count(things)} things compared"
    for each in differences[:_DIFFERENCES]:
        yield (
            f"✗ {each.kind} {each.name}: {each.zookeeper or 'nothing'} in ZooKeeper,"
            f" {each.log or 'nothing'} in the metadata log"
        )
    if len(differences) > _DIFFERENCES:
        yield f"✗ and {count(len(differences) - _DIFFERENCES)} more differences"


def outline_picture(facts: Facts, outline: Outline) -> RenderableType:
    """Return all forecast steps, each with its resulting stage and its way back."""
    return Group(line(standing_text(facts.standing)), *map(line, _planned(outline)))


def outline_summary(facts: Facts, outline: Outline) -> RenderableType:
    """Return the number of forecast steps, for somebody who approved them before."""
    lines = [standing_text(facts.standing), f"{counted(len(outline.steps), 'step')} to do;"
             " `towpath kraft plan` shows what each changes, and its way back"]  # fmt: skip
    lines += [f"✗ no further: {each}" for each in outline.refusals]
    return Group(*map(line, lines))


def _planned(outline: Outline) -> Iterator[str]:
    yield from (f"✗ this must end first: {each}" for each in outline.first)
    if not outline.steps and not outline.refusals:
        yield "nothing to do"
    for number, step in enumerate(outline.steps, 1):
        if step.last_chance:
            yield "— from here on nothing leads back: any election may finalize the migration —"
        yield f"{number}. {step.sentence}; then stage {step.expected}"
        yield from (f"   {text}" for text in change_lines(step.file))
        yield f"   way back: {_undo(step)}"
    for each in outline.refusals:
        yield f"✗ no further: {each}"


def _undo(step: PlannedStep) -> str:
    back = ", ".join(each.sentence for each in step.undo) or "none"
    if step.undo and step.expected is Stage.FINALIZING:
        return f"only while no controller without the flag was elected: {back}"
    return back


def outline_markdown(facts: Facts, outline: Outline) -> str:
    """Return the forecast steps as Markdown, for a review."""
    lines = [f"# Migration to KRaft\n\n{standing_text(facts.standing)}\n"]
    lines += [f"- this must end first: {each}\n" for each in outline.first]
    for number, step in enumerate(outline.steps, 1):
        lines.append(f"{number}. {step.sentence}; then stage `{step.expected}`")
        changes = "\n".join(f"   {text}" for text in change_lines(step.file))
        if changes:
            lines.append(f"   ```diff\n{changes}\n   ```")
        lines.append(f"   - way back: {_undo(step)}")
    lines += [f"- no further: {each}" for each in outline.refusals]
    return "\n".join(lines) + "\n"


def end_picture(end: RunEnd) -> RenderableType:
    """Return the picture of a run's result."""
    lines = [f"{counted(end.steps, 'step')} done", standing_text(end.standing)]
    lines += [f"✗ no further: {each}" for each in end.refused]
    if end.stopped:
        lines.append("stopped as you asked; the same command goes on from here")
    if end.left:
        lines.append(f"· {end.left}")
    lines += _found(end.notes)
    return Group(*map(line, lines))


class KraftDisplay:
    """Shows the progress of a run on stderr, one line for each change."""

    def __init__(self) -> None:
        self._said = ""

    def show(self, facts: Facts, doing: str) -> None:
        """Show the stage and the current activity."""
        said = f"{facts.standing.stage}: {doing}" if doing else standing_text(facts.standing)
        if said != self._said:
            self._said = said
            console(stderr=True).print(line(f"{readable(now_ms())} {said}"))
