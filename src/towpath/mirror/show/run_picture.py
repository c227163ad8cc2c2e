"""The live picture of a run on a terminal. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import ceil

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.show.grid import Cell, Grid
from towpath.cli.show.output import line
from towpath.mirror.run.progress import RunPhase, RunProgress
from towpath.mirror.show.states import counts, sign
from towpath.mirror.show.topics import Rate, Rates, TopicLine, TopicLines
from towpath.mirror.status.partition_status import State
from towpath.model.amounts import count, counted, size, span
from towpath.model.nouns import TopicName
from towpath.model.rates import RateLimits

_NAMED = 5
_LEAST = 3
"""Topics that are shown on the smallest terminal."""
_NUMBERS = ("records", "copied", "records/s", "rate", "lag", "ETA", "identical", "stopped")
_HEADERS = ("topic", *_NUMBERS)
_SPARE = ("identical", "copied", "records/s", "ETA")


def picture(
    link: str,
    progress: RunProgress,
    lines: TopicLines,
    rates: Rates,
    now: float,
    screen: tuple[int, int],
    began: float | None = None,
) -> RenderableType:
    """Return the live picture of a run.

    Args:
        link: The name of the link.
        progress: The run.
        lines: Its partitions, added up.
        rates: How fast they move.
        now: The present time, in seconds of the monotonic clock.
        screen: Columns and lines of the terminal.
        began: When the command began; by default when the run did, which is a little later.
    """
    age = now - (progress.began if began is None else began)
    above = [
        _head(link, progress, age),
        *_sums(progress.rates, lines, rates, now),
        *_alerts(progress, lines),
    ]
    if not lines.topics:
        return Group(*above)
    width, height = screen
    used = sum(max(1, ceil(each.cell_len / width)) for each in above)
    most = _most(len(lines.topics), height - used)
    shown = [*islice(lines.topics.items(), most)]
    cells = [_row(topic, each, rates.of(now, topic), progress.rates) for topic, each in shown]
    stops = any(each.states[State.STOPPED] for _, each in shown)
    kept = [at for at, name in enumerate(_HEADERS) if stops or name != "stopped"]
    table = Grid(
        [_HEADERS[at] for at in kept],
        ([row[at] for at in kept] for row in cells),
        right=_NUMBERS,
        spare=_SPARE,
    )
    return Group(*above, "", table, *_rest(lines.states[most:]))


def _head(link: str, progress: RunProgress, age: float) -> Text:
    parts = [link, span(age), str(progress.phase)]
    if progress.phase is RunPhase.COPYING:
        parts += [f"round {progress.round + 1}", counted(progress.slots, "slice")]
    return line("  ".join(parts))


def _sums(limits: RateLimits, lines: TopicLines, rates: Rates, now: float) -> list[Text]:
    every, rate = lines.all, rates.of(now)
    if not every.partitions:
        return []
    seconds = _left(every, rate, limits)
    left = f", ETA {span(seconds)}" if seconds is not None else ""
    text = (
        f"{count(every.records)} records, {size(every.size)} copied;"
        f" {count(round(rate.records))} records/s, {size(rate.size)}/s;"
        f" lag {count(every.lag)}{left}"
    )
    states = line(f"{counted(every.partitions, 'partition')}: ").append_text(counts(every.states))
    return [line(text), states]


def _alerts(progress: RunProgress, lines: TopicLines) -> list[Text]:
    """Return what somebody should look at: it stands above the table, which may be long."""
    alerts = [line(f"! {silence}") for silence in progress.silences()]
    alerts += [line(f"! {text}") for text in progress.away()]
    alerts += [line(f"✗ {progress.trouble}")] if progress.trouble else []
    for each in alerts:
        each.stylize("bold red" if each.plain.startswith("✗") else "bold yellow")
    told = [
        *_named("left out", progress.left_out),
        *_named(State.STOPPED, _in_state(lines, State.STOPPED)),
        *_named(State.NO_LEADER, _in_state(lines, State.NO_LEADER)),
        *_named("transaction", progress.hanging),
        *progress.paused,
        *_named("strays", progress.strays),
        *_named("schemas", progress.ids),
        *_named("groups", progress.groups),
        *_named("limit", progress.limited),
        *_named("limit", progress.waiting),
        *progress.files,
        *(text for text in (progress.takeover, progress.cut_over, progress.overtaken) if text),
    ]
    for text in told:
        alerts.append(line(text))
        alerts[-1].stylize("yellow")
    return alerts


def _in_state(lines: TopicLines, state: State) -> list[str]:
    return [row.named(row.error) for row in lines.troubled if row.state is state]


def _named(how: str, sentences: Sequence[str]) -> list[str]:
    """Return sentences about what is left out or stopped, the first ones in full."""
    told = [f"{how}: {sentence}" for sentence in sentences[:_NAMED]]
    more = len(sentences) - len(told)
    return [*told, f"… and {more} more {how}"] if more > 0 else told


def _most(topics: int, height: int) -> int:
    """Return how many topics fit below what stands above the table."""
    around = 4  # an empty line, the headers and the line below them, and the line of the cursor
    return topics if topics + around <= height else max(_LEAST, height - around - 1)


def _rest(states: Sequence[State]) -> list[Text]:
    if not states:
        return []
    if set(states) == {State.CAUGHT_UP}:
        return [line(f"… and {count(len(states))} more that are caught up")]
    return [line(f"… and {count(len(states))} more: ").append_text(counts(Counter(states)))]


def _left(
    each: TopicLine, rate: Rate, limits: RateLimits, topic: TopicName | None = None
) -> float | None:
    """Return the seconds until the lag is 0, but no fewer than the limits allow."""
    own = limits.topics.get(topic) if topic is not None else None
    known = [limit for limit in (limits.link, own) if limit is not None]
    if not (known and each.lag):
        return rate.left
    least = each.behind / min(known)
    return max(least, rate.left or 0.0)


def _row(topic: TopicName, each: TopicLine, rate: Rate, limits: RateLimits) -> tuple[Cell, ...]:
    left = _left(each, rate, limits, topic)
    return (
        Text.assemble(sign(each.state), "\u00a0", topic),
        count(each.records),
        size(each.size),
        count(round(rate.records)),
        f"{size(rate.size)}/s",
        count(each.lag),
        span(left) if left is not None else "-",
        f"{each.identical}/{each.partitions}",
        str(each.states[State.STOPPED] or ""),
    )
