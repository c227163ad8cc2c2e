"""Archive events as sentences, as text and as JSON. Pure."""

from __future__ import annotations

from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.archive.log.events import ArchiveWhat
from towpath.archive.log.happenings import ArchiveHistory
from towpath.archive.show.reading_shapes import ArchiveEventsJson
from towpath.archive.write.unread_records import unread_sentence
from towpath.cli.show.events import Facts, Sentences, event_as_json, event_line, sentence_of
from towpath.cli.show.output import line
from towpath.ledger.events import Event
from towpath.model.amounts import counted, shortened
from towpath.runtime.clock import readable

_NAMED = 5
_TROUBLE = frozenset({ArchiveWhat.LOST, ArchiveWhat.HISTORY_BEGUN, ArchiveWhat.UNREAD_DELETED})


def picture(found: ArchiveHistory) -> RenderableType:
    """Return one line for each event: time, user, host, and a sentence."""
    parts: list[RenderableType] = []
    if found.earlier:
        earlier = counted(found.earlier, "earlier event")
        parts.append(line(f"{earlier} not shown; raise --limit to see more"))
    parts += map(_line, found.events)
    if not found.events:
        since = f" since {readable(found.since)}" if found.since else ""
        parts.append(line(f"nothing happened to the archive{since} but archiving"))
    if found.unreadable:
        objects = counted(found.unreadable, "event")
        parts.append(line(f"{objects} cannot be read by this version of Towpath"))
    return Group(*parts)


def as_json(archive: str, found: ArchiveHistory) -> ArchiveEventsJson:
    """Return events for programs, each as stored and with its sentence."""
    return {
        "archive": archive,
        "earlier": found.earlier,
        "unreadable": found.unreadable,
        "events": [
            event_as_json(each, trouble=_is_trouble(each), text=sentence(each))
            for each in found.events
        ],
    }


def sentence(event: Event) -> str:
    """Return the sentence that describes an event."""
    return sentence_of(event, _SENTENCES)


def _is_trouble(event: Event) -> bool:
    if event.what == ArchiveWhat.RESTORE_ENDED:
        return bool(event.facts.get("error"))
    return event.what in _TROUBLE or event.is_trouble


def _line(event: Event) -> Text:
    return event_line(event, sentence(event), is_trouble=_is_trouble(event))


def _of(facts: Facts) -> str:
    topics = facts["topics"]
    return f"{shortened(topics, _NAMED)} (version {facts['version']})"


def _restore_started(_about: str, facts: Facts) -> str:
    return f"{facts['restore']} started to restore to {facts['target']}"


def _restore_ended(_about: str, facts: Facts) -> str:
    if facts["error"]:
        return f"{facts['restore']} ended with error {facts['error']}"
    return f"{facts['restore']} {'is complete' if facts['complete'] else 'ended incomplete'}"


def _history_begun(_about: str, facts: Facts) -> str:
    before = facts["history"] - 1
    return (
        f"the log of {facts['topic']}-{facts['partition']} was cut at the source, and has other"
        f" records from offset {facts['fork']} on: history {facts['history']} begins (version"
        f" {facts['version']}); history {before} keeps what was archived"
    )


def _unread_deleted(_about: str, facts: Facts) -> str:
    return unread_sentence(facts["topic"], facts["offsets"], gone=facts["gone"])


def _recovered(_about: str, facts: Facts) -> str:
    gap = f", and {facts['lost']} offsets given up as lost" if facts["lost"] else ""
    return (
        f"{counted(facts['records'], 'record')} in {counted(facts['objects'], 'object')} that were"
        f" in no entry were taken in again{gap}: {_of(facts)}"
    )


def _forgotten(_about: str, facts: Facts) -> str:
    records = counted(facts["records"], "record") if "records" in facts else "records"
    verb = "was" if facts.get("records") == 1 else "were"
    reason = f": {facts['reason']}" if facts.get("reason") else ""
    segments = counted(facts["removed"], "segment")
    return f"{records} {verb} erased from {segments} of {_of(facts)}{reason}"


_SENTENCES: Sentences = MappingProxyType(
    {
        ArchiveWhat.RESTORE_STARTED: _restore_started,
        ArchiveWhat.RESTORE_ENDED: _restore_ended,
        ArchiveWhat.UNREAD_DELETED: _unread_deleted,
        ArchiveWhat.HISTORY_BEGUN: _history_begun,
        ArchiveWhat.RECOVERED: _recovered,
        ArchiveWhat.COMPACTED: lambda _about, facts: (
            f"{counted(facts['removed'], 'segment')} became {facts['added']} by compaction of"
            f" {_of(facts)}"
        ),
        ArchiveWhat.PRUNED: lambda _about, facts: (
            f"{counted(facts['removed'], 'segment')} pruned of {_of(facts)}"
        ),
        ArchiveWhat.FORGOTTEN: _forgotten,
        ArchiveWhat.LOST: lambda _about, facts: (
            f"records of {counted(facts['removed'], 'segment')} of {_of(facts)} were given up as"
            " lost"
        ),
        ArchiveWhat.SWEPT: lambda _about, facts: (
            f"{counted(facts['objects'], 'object')} deleted that nobody needs any more"
            f" (version {facts['version']})"
        ),
    }
)
