"""Why a topic is not copied now, and what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import LinkStage
from towpath.model.nouns import TopicName

_PAUSED = "it is paused; `towpath resume FILE` goes on"
_HINTS: Mapping[str, str] = {
    LinkStage.SEALED: "`towpath failover FILE` ends what began",
    LinkStage.FAILED_OVER: "clients use the target; `towpath failback FILE` turns the link round",
    LinkStage.REVERSED: (
        "link {back} copies back; give `towpath failback` with the file of that link, and promote"
        " with the file that this writes"
    ),
    LinkStage.STOPPED: "`towpath topics start FILE` takes it up again",
}


def why_not_copied(books: LinkBooks, topic: TopicName) -> str:
    """Return why a topic is not copied now and what to do, "" if nothing keeps it from that."""
    state = books.closed(topic)
    if state is None:
        return _PAUSED if books.pause_of(topic) is not None else ""
    hint = _HINTS.get(state.state, "").format(back=state.back)
    return f"it is {state.state.replace('_', ' ')}" + (f"; {hint}" if hint else "")
