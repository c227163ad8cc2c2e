"""Events of any product as sentences and lines. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from rich.text import Text

from towpath.cli.show.output import line
from towpath.cli.show.shapes import EventJson, OriginJson
from towpath.ledger.events import Event, What
from towpath.runtime.clock import readable

Facts = Mapping[str, Any]
Sentences = Mapping[str, Callable[[str, Facts], str]]
"""Makers of sentences, by kinds of events: each takes what the event is about, and its facts."""


def sentence_of(event: Event, sentences: Sentences) -> str:
    """Return an event as a sentence, made from its codes and values.

    Args:
        event: The event.
        sentences: Those that a product has beside the common ones.
    """
    make = sentences.get(event.what) or _COMMON.get(event.what)
    if make is not None:
        try:
            return make(event.about, event.facts)
        except (KeyError, TypeError, ValueError):
            pass  # another version wrote other facts
    facts = " ".join(f"{name}={value}" for name, value in event.facts.items())
    return " ".join(part for part in (event.what, event.about, facts) if part)


def event_as_json(event: Event, *, trouble: bool, text: str) -> EventJson:
    """Return an event for programs, as it was written.

    Args:
        event: The event.
        trouble: Whether it needs attention.
        text: What happened, as a sentence.
    """
    origin = event.origin
    return EventJson(
        id=event.id,
        at=event.at,
        link=event.link,
        what=event.what,
        about=event.about,
        facts=dict(event.facts),
        origin=OriginJson(
            user=origin.user,
            login=origin.login,
            host=origin.host,
            pid=origin.pid,
            version=origin.version,
        ),
        v=event.v,
        trouble=trouble,
        text=text,
    )


def event_line(event: Event, sentence: str, *, is_trouble: bool) -> Text:
    """Return an event as a line: time, person, host and sentence."""
    origin = event.origin
    who = f"{origin.user}@{origin.host}" if origin.user else origin.host
    shown = line(f"{readable(event.at)}  {who}  {'! ' if is_trouble else ''}{sentence}")
    shown.stylize("yellow" if is_trouble else "")
    return shown


def _run_started(_about: str, facts: Facts) -> str:
    return "the run started" + (", to end when caught up" if facts["until_caught_up"] else "")


def _run_ended(_about: str, facts: Facts) -> str:
    return "the run ended" + (f" with error {facts['error']}" if facts["error"] else "")


def _taken_over(_about: str, facts: Facts) -> str:
    dead = f"`towpath {facts['command']}` ({facts['where']})"
    return f"the lease was taken over from {dead}, which ended without giving it back"


_COMMON: Sentences = MappingProxyType(
    {
        What.RUN_STARTED: _run_started,
        What.RUN_ENDED: _run_ended,
        What.LEASE_TAKEN_OVER: _taken_over,
    }
)
