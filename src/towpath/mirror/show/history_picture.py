"""The display of events: as sentences, text and JSON. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.show.events import Facts, Sentences, event_as_json, event_line, sentence_of
from towpath.cli.show.output import line
from towpath.ledger.entries import MissingEvents
from towpath.ledger.events import STOPPED, Event, What
from towpath.mirror.show.history_shapes import HistoryJson
from towpath.mirror.show.status_shapes import MissingEventsJson
from towpath.mirror.subjects import SUBJECTS
from towpath.model.amounts import count, counted
from towpath.model.nouns import EVENTS
from towpath.model.reasons import from_data
from towpath.runtime.clock import readable
from towpath.settings import ByteRate

_ABSENT = (
    f"topic {EVENTS} does not exist on the target, so what happened before now is not known; the"
    " first `towpath run`, `apply`, `cutover` or `repair` creates it, if its login has the right"
    " (docs/rights.md)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The history of a link.

    Attributes:
        events: The latest events, in the order of writing.
        earlier: Number of events before them that were left out.
        foreign: Number of records in the topic that are no events that this version can read.
        topic: Whether the topic of events exists.
        since: Only events of this time or later were asked for, in ms since 1970; 0 for all.
        missing: Events that the last command could not write; `None` if it wrote them all.
    """

    events: tuple[Event, ...]
    earlier: int = 0
    foreign: int = 0
    topic: bool = True
    since: int = 0
    missing: MissingEvents | None = None


def picture(link: str, history: History) -> RenderableType:
    """Return one line for each event: time, user, host, and a sentence."""
    earlier = f"{counted(history.earlier, 'earlier event')} not shown; raise --limit to see more"
    before = [line(earlier)] if history.earlier else []
    return Group(*before, *map(_line, history.events), *map(line, _remarks(link, history)))


def as_json(link: str, history: History) -> HistoryJson:
    """Return a history for programs; each event as stored, with its sentence."""
    missing = history.missing
    return HistoryJson(
        link=link,
        topic_exists=history.topic,
        earlier=history.earlier,
        unreadable=history.foreign,
        missing=MissingEventsJson(count=missing.count, why=missing.why) if missing else None,
        events=[
            event_as_json(event, trouble=event.is_trouble, text=sentence(event))
            for event in history.events
        ],
    )


def sentence(event: Event) -> str:
    """Return an event of a link's history as a sentence."""
    return sentence_of(event, _SENTENCES)


def _line(event: Event) -> Text:
    return event_line(event, sentence(event), is_trouble=event.is_trouble)


def _remarks(link: str, history: History) -> list[str]:
    if not history.topic:
        return [_ABSENT]
    lines = []
    if not history.events:
        since = f" since {readable(history.since)}" if history.since else ""
        lines.append(f"no event of link {link}{since} is in topic {EVENTS} on the target")
    if history.missing is not None:
        lines.append(f"the last command of the link: {history.missing}")
    if history.foreign:
        records = counted(history.foreign, "record")
        lines.append(f"{records} in topic {EVENTS} cannot be read by this version of Towpath")
    return lines


def _linked(_about: str, facts: Facts) -> str:
    source, target = facts["source_cluster"], facts["target_cluster"]
    return f"the link joins source {source} and target {target}, feature level {facts['level']}"


def _named(facts: Facts) -> str:
    topics = facts["topics"]
    if not topics:
        return "all topics were"
    return f"topic {topics[0]} was" if len(topics) == 1 else f"topics {', '.join(topics)} were"


def _rate_set(_about: str, facts: Facts) -> str:
    topics, rate = facts["topics"], facts["rate"]
    if rate is None:
        what = f"of topics {', '.join(topics)}" if topics else "that were set"
        return f"the limits {what} were taken back; those of the file hold"
    what = _named(facts) if topics else "the link was"
    if rate:
        return f"{what} limited to {ByteRate(rate)}"
    return f"{what} freed of {'their' if topics[1:] else 'its'} limit"


def _round_started(_about: str, facts: Facts) -> str:
    partitions, slices = facts["partitions"], facts["slices"]
    what = f"{counted(slices, 'slice')} for {counted(partitions, 'partition')}"
    return f"round {facts['number']} started with {what}"


def _round_failed(_about: str, facts: Facts) -> str:
    return f"round {facts['number']} failed ({facts['code']}): {facts['error']}"


def _round_uneven(_about: str, facts: Facts) -> str:
    load = round(100 * facts["next_load"] / facts["load"])
    return (
        f"slice {facts['slice']} of round {facts['number']} has too much to copy (partitions that"
        f" lag: {facts['lagging']}) while another slice has room; the next round spreads all"
        f" partitions anew, with at most {load}% of that load in a slice"
    )


def _step(about: str, facts: Facts) -> str:
    verb = SUBJECTS.kinds.verb(facts["do"])
    return f"{verb} {facts['subject'].removesuffix('s')} {about}"


def _state(about: str, facts: Facts) -> str:
    state, why = facts["state"], str(facts["why"]).removeprefix(f"{about}: ")
    if state == STOPPED:
        return f"{about} stopped: {why}"
    if state != "copied":
        return f"{about} is {state}"
    again = " again" if facts["before"] == STOPPED else ""
    because = f", because {why}" if why else ""
    return f"{about} is copied{again} with {facts['mode']} offsets{because}"


def _gap(about: str, facts: Facts) -> str:
    first, end, why = facts["first"], facts["end"], from_data(facts["why"])
    cause = str(why) if why is not None else str(facts["why"]["code"])
    if end <= first:
        return f"{about} ended at offset {first}: {cause}"
    offsets = f"offset {first}" if end == first + 1 else f"offsets {first} to {end - 1}"
    went = "copying went on behind" if facts["went_on"] else "copying stopped there"
    return f"{about}: {offsets} not copied: {cause}; {went}"


def _repaired(about: str, facts: Facts) -> str:
    offset, lost = facts["offset"], facts["acknowledged"]
    return f"{about} is copied again from offset {offset} on; the target had lost up to {lost - 1}"


def _cutover_ended(_about: str, facts: Facts) -> str:
    if facts["complete"]:
        return "the cutover is complete"
    return f"the cutover ended before it was complete: {'; '.join(facts['trouble'])}"


def _moved(facts: Facts) -> str:
    return ", ".join(facts["topics"]) or "the link"


def _failover_ended(_about: str, facts: Facts) -> str:
    lost, again = facts["lost"], facts["again"]
    cost = f"{count(lost)} offsets not mirrored" if lost >= 0 else "what is lost is not known"
    told = f"{cost}, {count(again)} records read twice"
    if facts["state"] == "failed_over":
        return f"the link failed over: {told}"
    return f"the failover ended before it was complete: {'; '.join(facts['trouble'])}"


def _overtaken(about: str, facts: Facts) -> str:
    return (
        f"another program has committed offset {facts['committed']} of {facts['partition']} for"
        f" group {about}, where the link had copied up to {facts['copied']};"
        f" {counted(facts['offsets'], 'offset')} of {counted(facts['partitions'], 'partition')}"
        " copied all the same, and twice on the target where that program wrote them"
    )


def _strays_kept(_about: str, facts: Facts) -> str:
    topics = ", ".join(facts.get("topics", ())) or "topics whose clients use the target"
    deleted = facts.get("deleted", 0)
    return (
        f"{counted(facts['records'], 'record')} kept aside that came to the source of {topics}"
        + (f"; the source had deleted {counted(deleted, 'offset')} before" if deleted else "")
    )


def _promotion_ended(_about: str, facts: Facts) -> str:
    asked = f"asked by {facts['user']}" + (f" on {facts['host']}" if facts["host"] else "")
    what = ", ".join([*facts["topics"], *(f"group {each}" for each in facts["groups"])])
    if facts["state"] in {"refused", "undone"}:
        move = "way back" if facts["back"] else "promotion"
        return (
            f"the {move} of {what or 'all topics'} was {facts['state']} ({asked}): {facts['why']}"
        )
    held = f"producers were held for {count(facts['held'])} ms, consumers for"
    is_timed = facts["topics"] and (facts["held"] or facts["silent"])  # not by a successor
    times = f": {held} {count(facts['silent'])} ms" if is_timed else ""
    later = f"; {facts['why']}" if facts["why"] else ""
    return f"{facts['state']} ({asked}): {what}{times}{later}"


_SENTENCES: Sentences = MappingProxyType(
    {
        What.LINK_CHANGED: _linked,
        What.ROUND_STARTED: _round_started,
        What.ROUND_ENDED: lambda _about, facts: f"round {facts['number']} ended",
        What.ROUND_FAILED: _round_failed,
        What.ROUND_UNEVEN: _round_uneven,
        What.STEP_DONE: lambda about, facts: f"done: {_step(about, facts)}",
        What.STEP_FAILED: lambda about, facts: f"failed: {_step(about, facts)}: {facts['error']}",
        What.PARTITION_STATE: _state,
        What.PARTITION_GAP: _gap,
        What.PARTITION_REPAIRED: _repaired,
        What.LINK_PAUSED: lambda _about, facts: f"{_named(facts)} paused",
        What.LINK_RESUMED: lambda _about, facts: f"{_named(facts)} resumed",
        What.RUN_CHANGED: lambda _about, facts: (
            f"the run goes on by its changed file ({', '.join(facts['sections'])})"
        ),
        What.TOPICS_STOPPED: lambda _about, facts: f"{_named(facts)} stopped for good",
        What.TOPICS_STARTED: lambda _about, facts: f"{_named(facts)} taken up again",
        What.LINK_REMOVED: lambda _about, facts: (
            f"the books of the link were removed ({counted(facts['entries'], 'entry')})"
        ),
        What.RATE_SET: _rate_set,
        What.QUARANTINE_REPLAYED: lambda _about, facts: (
            f"{counted(facts['records'], 'record')} of the quarantine topic replayed"
        ),
        What.TOPIC_RESTARTED: lambda about, facts: (
            f"{about} is copied from its beginning again"
            + (", its mirror topic was replaced" if facts["replaced"] else "")
        ),
        What.CUTOVER_STARTED: lambda _about, facts: (
            f"the cutover of {counted(facts['topics'], 'topic')} started"
        ),
        What.CUTOVER_ENDED: _cutover_ended,
        What.FAILOVER_STARTED: lambda _about, facts: f"a failover of {_moved(facts)} began",
        What.FAILOVER_UNDONE: lambda _about, facts: (
            f"the failover of {_moved(facts)} was taken back"
        ),
        What.FAILOVER_ENDED: _failover_ended,
        What.FAILBACK_STARTED: lambda _about, facts: (
            "the failback started"
            + (f"; the records of the {facts['wins']} stay" if facts["wins"] else "")
        ),
        What.FAILBACK_ENDED: lambda _about, facts: (
            f"the link is turned round: link {facts['back']} copies back what clients wrote"
        ),
        What.SALVAGE_REPLAYED: lambda _about, facts: (
            f"{counted(facts['records'], 'record')} of salvage topics replayed"
        ),
        What.GROUP_OVERTAKEN: _overtaken,
        What.STRAYS_KEPT: _strays_kept,
        What.PROMOTION_ENDED: _promotion_ended,
    }
)
"""What makes the sentence of each kind of event from its facts."""
