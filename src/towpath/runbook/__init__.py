"""The runbook: a page for each reason, error and alert. `towpath explain` shows them.

The pages are files beside this one, so that they are at hand wherever Towpath is installed. A page
begins with its title and a line `Codes:` that names what it explains; the rest is Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HEAD = re.compile(r"# (?P<title>.+)\n\nCodes: (?P<codes>`\w+`(?:, `\w+`)*)\n\n")


@dataclass(frozen=True, slots=True)
class RunbookPage:
    """A page of the runbook.

    Attributes:
        name: The name of its file, without the suffix.
        title: Its first heading.
        codes: The codes of reasons and errors, and the names of alerts, that it explains.
        text: All of it, as Markdown.
    """

    name: str
    title: str
    codes: tuple[str, ...]
    text: str


@cache
def pages() -> tuple[RunbookPage, ...]:
    """Return all pages, sorted by name."""
    found = sorted(Path(__file__).parent.glob("*.md"))
    return tuple(_page(file.stem, file.read_text("utf-8")) for file in found)


def page_of(name: str) -> RunbookPage | None:
    """Return the page for a code or an alert, ignoring case and punctuation."""
    wanted = _plain(name)
    for page in pages():
        if wanted in {_plain(each) for each in (page.name, *page.codes)}:
            return page
    return None


def pointers(codes: Iterable[str]) -> list[str]:
    """Return one line for each page that explains some of the codes."""
    found: dict[str, str] = {}
    for code in codes:
        if page := page_of(code):
            found.setdefault(page.name, code)
    return [f"see `towpath explain {code}`" for code in found.values()]


def _page(name: str, text: str) -> RunbookPage:
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"runbook page {name}: the title and the line of its codes are missing")
    return RunbookPage(name, head["title"], tuple(re.findall(r"\w+", head["codes"])), text)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
