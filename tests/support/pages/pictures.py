"""The text that a terminal shows of a picture."""

from __future__ import annotations

from rich.console import RenderableType

from towpath.cli.show.output import console


def text_of(picture: RenderableType) -> str:
    """Return a picture as it is printed."""
    made = console()
    with made.capture() as taken:
        made.print(picture)
    return taken.get()
