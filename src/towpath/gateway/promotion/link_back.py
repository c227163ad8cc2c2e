"""The link back, which copies what clients write on the target to the source. Blocking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from towpath.ledger.entries import LinkStage
from towpath.ledger.link import OpenLink, open_link
from towpath.model.nouns import LinkName, TopicName


def link_back(link: OpenLink, wanted: Sequence[TopicName]) -> LinkName | None:
    """Return the name of the link back, `None` if the link or one of the topics has none.

    Args:
        link: The link, whose books were read.
        wanted: The topics that shall go back, none for all that can.
    """
    books = link.books
    backs = {
        topic: LinkName(state.back)
        for topic, state in books.states.items()
        if state.state == LinkStage.REVERSED
    }
    whole = books.state_of()
    if whole is not None and whole.state == LinkStage.REVERSED:
        return LinkName(whole.back)
    if not backs or not {*wanted} <= backs.keys():
        return None
    return next(iter(backs.values()))


@contextmanager
def copying(link: OpenLink, name: LinkName) -> Iterator[OpenLink]:
    """Open a link of this name between the gateway's clusters: its own, or the link back."""
    if name == link.name:
        yield link
        return
    config = link.config
    turned = {"link": name, "source": config.target, "target": config.source}
    with open_link(config.model_copy(update=turned)) as back:
        yield back
