"""The display of a restore for people: its plan, its progress and its result."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.archive.restore.applying import SUBJECTS
from towpath.archive.restore.plan import RestorePlan
from towpath.archive.restore.progress import PartState, RestoreProgress, RestoreRow
from towpath.archive.restore.proof.verdict import ProofState
from towpath.archive.restore.status import RestoreStatus
from towpath.cli.show.fold import folded
from towpath.cli.show.grid import Grid
from towpath.cli.show.live import LivePicture
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size, span
from towpath.model.findings import without_side
from towpath.model.nouns import Mode
from towpath.plan.explain import groups, remarks
from towpath.runbook import pointers
from towpath.runtime import log
from towpath.runtime.clock import readable

_TOPICS = ("topic", "on the target", "partitions", "records", "bytes")
_ROWS = ("partition", "state", "mode", "restored to", "end", "records", "why")
_LINE_EVERY = 60.0


def plan_picture(plan: RestorePlan) -> RenderableType:
    """Return the plan of a restore, for people."""
    scope, target = plan.scope, plan.plan.target
    version = f"version {scope.version} of {readable(scope.at)}" if scope.version else "nothing"
    where = f"{', '.join(target.bootstrap)}: cluster {target.id}" if target else "did not answer"
    parts: list[RenderableType] = [
        line(f"restore {plan.task.name}"),
        line(f"archive {plan.task.store.url}, region {scope.region}, {version}"),
        line(f"target  {where}"),
        "",
    ]
    if scope.topics:
        parts += [_topics(plan), ""]
    for group in groups(plan.plan, SUBJECTS):
        last = [name for name in group.headers[-1:] if name not in group.right]
        grid = Grid(group.headers, group.rows, right=group.right, whole=["step"], below=last)
        parts += [line(group.title), grid, ""]
    told = [line(plan.cost.told(float(plan.task.rules.costs.rate)))] if plan.cost else []
    return Group(*parts, *map(line, remarks(plan.plan)), *told, line(_summary(plan)))


def _topics(plan: RestorePlan) -> Grid:
    rows = [
        (name, each.target, str(len(each.parts)), count(each.records), size(each.bytes))
        for name, each in plan.scope.topics.items()
    ]
    return Grid(_TOPICS, rows, right=_TOPICS[2:])


def _summary(plan: RestorePlan) -> str:
    fine = [each for name, each in plan.scope.topics.items() if name in plan.plan.topics]
    records, total = sum(each.records for each in fine), sum(each.bytes for each in fine)
    return (
        f"{counted(len(fine), 'topic')} to restore, {count(records)} records, {size(total)};"
        f" {counted(len(plan.scope.groups), 'group')} of consumers;"
        f" {counted(len(plan.plan.problems), 'problem')}"
    )


def as_markdown(plan: RestorePlan) -> str:
    """Return the plan of a restore as Markdown, for a review."""
    return "\n".join(_markdown(plan)) + "\n"


def _markdown(plan: RestorePlan) -> Iterator[str]:
    scope = plan.scope
    yield f"# Plan of restore {plan.task.name}"
    yield f"\nRegion {scope.region}, version {scope.version}. {_summary(plan)}.\n"
    yield f"| {' | '.join(_TOPICS)} |\n|{'---|' * len(_TOPICS)}"
    for name, each in scope.topics.items():
        cells = name, each.target, str(len(each.parts)), count(each.records), size(each.bytes)
        yield f"| {' | '.join(cells)} |"
    if plan.cost is not None:
        yield f"\nIt {plan.cost.told(float(plan.task.rules.costs.rate))}."
    for title, found in (("Notes", plan.plan.notes), ("Problems", plan.plan.problems)):
        if found:
            yield f"\n## {title}\n"
            yield from (f"- {each.about}: {without_side(each.about, each.text)}" for each in found)


def status_picture(seen: RestoreStatus) -> RenderableType:
    """Return the progress of a restore, for people."""
    parts = [line(str(seen.heard))] if seen.heard is not None else []
    parts += [line(each) for each in seen.running]
    held = [f"{name}: held back: {', '.join(keys)}" for name, keys in seen.held.items()]
    return Group(
        line(f"restore {seen.task.name}: region {seen.scope.region}, version {seen.scope.version}"),
        *parts,
        rows_picture(seen.rows),
        *map(line, [*held, *seen.schemas]),
        *map(line, _filtered(seen.rows)),
        line(states(seen.rows)),
    )


def rows_picture(rows: Iterable[RestoreRow], most: int | None = None) -> RenderableType:
    """Return a table of partitions, those in trouble first."""
    ordered = sorted(rows, key=lambda row: (_RANK[row.state], row.source, row.tp))
    shown = ordered[:most]
    told = [line(each) for each in pointers([code for row in shown for code in row.codes])]
    if len(shown) < len(ordered):
        told.append(line(f"… and {counted(len(ordered) - len(shown), 'more partition')}"))
    if not shown:
        return Group(*told)
    grid = Grid(_ROWS, map(_cells, shown), right=_ROWS[3:6], whole=["state"], below=["why"])
    return Group(grid, *told)


_RANK = {state: rank for rank, state in enumerate(reversed(PartState))}


def _cells(row: RestoreRow) -> Sequence[str]:
    lost = [f"offsets {gap.first} to {gap.end - 1} are lost: {gap.cause}" for gap in row.gaps]
    why = "; ".join([*([row.error] if row.error else lost), *([row.reason] if row.reason else [])])
    numbers = count(row.at), count(row.part.end), count(row.records)
    return (row.named, str(row.state), row.mode, *numbers, why)


def states(rows: Sequence[RestoreRow]) -> str:
    """Return the number of partitions in each state: `3 partitions: 1 late, 2 done`."""
    found = Counter(row.state for row in rows)
    told = ", ".join(f"{found[state]} {state}" for state in PartState if found[state])
    return f"{counted(len(rows), 'partition')}{f': {told}' if told else ''}"


def progress_line(progress: RestoreProgress) -> str:
    """Return the total progress of a restore as one line."""
    done, whole = progress.done_bytes, progress.all_bytes
    share = f" ({done / whole:.0%})" if whole else ""
    left = progress.seconds_left
    eta = f", about {span(left)} left" if left is not None else ""
    rate = f", {size(progress.rate)}/s" if progress.rate else ""
    return f"{size(done)} of {size(whole)}{share}{rate}{eta}; {states(progress.rows)}"


def _given(progress: RestoreProgress) -> Iterator[str]:
    """Yield what became of groups of consumers, if there are any."""
    found = progress.groups
    if found.groups:
        all_of_them = sum(len(each.positions) for each in found.groups)
        groups = counted(len(found.groups), "group")
        yield f"{groups} of consumers: {found.given:,} of {all_of_them:,} positions are there"
    if found.beyond:
        yield (
            f"{counted(found.beyond, 'position')} lay behind the last archived record; these groups"
            " go on at the end of what is restored"
        )


def _proven(progress: RestoreProgress) -> Iterator[str]:
    """Yield how what was restored compares with the archive, if somebody asked."""
    proofs = progress.proofs
    if proofs:
        equal = [each for each in proofs if each.state is ProofState.EQUAL]
        records = sum(each.restored.records for each in equal)
        yield (
            f"compared with the archive by digests: {len(equal)} of"
            f" {counted(len(proofs), 'partition')} equal, {count(records)} records read back"
        )
    for each in proofs:
        if each.state is ProofState.UNCOMPARED:
            yield f"{each.named}: not compared with the archive: {each.why}"
    if progress.unproven:
        yield f"nothing was compared with the archive: {progress.unproven}"


def _filtered(rows: Iterable[RestoreRow]) -> Iterator[str]:
    """Yield how many offsets have no record on the target, as the archive left them out."""
    if offsets := sum(row.part.filtered for row in rows):
        verb = "was" if offsets == 1 else "were"
        yield (
            f"{counted(offsets, 'offset')} {verb} left out of the archive (filtered), so the target"
            " has no record of them"
        )


def _mapped(rows: Iterable[RestoreRow]) -> list[str]:
    """Return which partitions have other offsets than the archive, a line for those alike."""
    why = "offsets on the target are not those of the archive: "
    return folded((row.named, f"{why}{row.reason}") for row in rows if row.mode == Mode.MAPPED)


def result_picture(progress: RestoreProgress, *, stop: bool) -> RenderableType:
    """Return the result of a restore, for people."""
    how = "restored" if progress.complete else "stopped" if stop else "ended"
    how = "followed until stopped" if progress.following else how
    taken = span(time.monotonic() - progress.began)
    records = sum(row.records for row in progress.rows)
    lines = [f"{how} after {taken}: {count(records)} records; {states(progress.rows)}"]
    lines += [*progress.schemas, *_given(progress), *_proven(progress), *_filtered(progress.rows)]
    lines += _mapped(progress.rows)
    lines += map(str, progress.heard)
    lines += [str(progress.notified)] if progress.notified else []
    lines += progress.left_out
    lines += [f"trouble: {progress.trouble}"] if progress.trouble else []
    lines += [progress.takeover] if progress.takeover else []
    left = [row for row in progress.rows if not row.done or row.gaps]
    return Group(*map(line, lines), rows_picture(left, 20))


class RestoreDisplay:
    """Shows the progress of a restore on stderr: a picture on a terminal, else a log.

    Args:
        name: The name of the restore.
        logs: How to log; `None` shows a picture if there is a terminal.
        stop: Is set when the user asks to stop.
    """

    def __init__(self, name: str, logs: log.LogWanted | None, stop: threading.Event) -> None:
        self._name, self._stop = name, stop
        self._progress: RestoreProgress | None = None
        self._live: LivePicture | None = None
        self._logs = logs
        self._told: tuple[str, ...] = ()
        self._phase, self._said = "", time.monotonic()

    def __enter__(self) -> RestoreDisplay:
        if self._logs is None and sys.stderr.isatty():
            self._live = LivePicture(self._draw, self._stop, transient=True)
        else:
            log.begin(self._logs or log.LogWanted())
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.close()

    def show(self, progress: RestoreProgress) -> None:
        """Show the current progress."""
        self._progress = progress
        if self._live is None:
            self._log(progress)

    def _draw(self) -> RenderableType:
        progress = self._progress
        if progress is None:
            return Text(f"{self._name}  starting")
        taken = span(time.monotonic() - progress.began)
        done, whole = progress.compared
        compared = f": {done} of {counted(whole, 'slice')}" if whole else ""
        parts: list[RenderableType] = [Text(f"{self._name}  {taken}  {progress.phase}{compared}")]
        if progress.rows:
            parts.append(Text(progress_line(progress)))
        parts += [line(str(each)) for each in progress.heard]
        parts += [line(str(progress.notified))] if progress.notified else []
        parts += [line(each) for each in (*progress.left_out, progress.trouble) if each]
        return Group(*parts, rows_picture(progress.rows, 12))

    def _log(self, progress: RestoreProgress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase = progress.phase
            log.event("restore.phase", self._name, "", {"phase": self._phase}, trouble=False)
        told = tuple(each for each in (*progress.left_out, progress.trouble) if each)
        told += tuple(each.why for each in progress.heard if each.why)
        told += (progress.notified.trouble,) if progress.notified else ()
        told += tuple(f"{row.named}: {row.error}" for row in progress.rows if row.error)
        for each in told:
            if each and each not in self._told:
                log.event("restore.trouble", self._name, "", {"why": each}, trouble=True)
        self._told = told
        if now - self._said > _LINE_EVERY and progress.rows:
            self._said = now
            facts = {"progress": progress_line(progress)}
            log.event("restore.progress", self._name, "", facts, trouble=False)
