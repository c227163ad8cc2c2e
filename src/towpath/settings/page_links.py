"""Links from made pages to other pages of `docs/`."""

from __future__ import annotations

import re

_PAGE = re.compile(r"`?\bdocs/((?:[\w-]+/)*([\w-]+)\.md)`?")


def linked(text: str, up: str = "") -> str:
    """Return a text whose names of pages, such as `docs/rate.md`, are links of Markdown.

    Args:
        text: The text. Without links it is shown in terminals and schemas, too.
        up: The way from the folder of the page to `docs/`, such as `../`.
    """
    return _PAGE.sub(lambda page: f"[{page[2].replace('-', ' ')}]({up}{page[1]})", text)
