"""Self-contained HTML pages, kept as evidence.

A page holds its facts as JSON, and the SHA-256 of these bytes. What it shows comes from elsewhere,
so every text is escaped, and the page has no script.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}"
    "th,td{border:1px solid #8884;padding:.25rem .5rem;text-align:left;vertical-align:top}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".bad{background:#d3330022}.good{background:#2a890022}"
    "code,pre{font:13px ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}"
    "@media print{details{display:block}}"
)


def page(
    title: str, facts: Mapping[str, Any], body: Callable[[Mapping[str, Any]], Iterator[str]]
) -> str:
    """Return an HTML page.

    Args:
        title: Its title.
        facts: What it is made of, as JSON has it; it stands at the end of the page.
        body: Yields what comes above that, as HTML.
    """
    told = canonical(facts)
    digest = hashlib.sha256(told.encode()).hexdigest()
    made = "\n".join(body(facts))
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"{made}\n"
        f"<p>SHA-256 of the facts at the end of this page: <code>{digest}</code></p>\n"
        "<details><summary>All facts, as JSON</summary>\n"
        f'<pre id="facts">{text(told)}</pre></details>\n'
        "</body></html>\n"
    )


def canonical(facts: Mapping[str, Any]) -> str:
    """Return facts as canonical JSON, from which the digest is computed."""
    return json.dumps(facts, sort_keys=True, indent=1, ensure_ascii=False)


def verdict(told: str, *, good: bool) -> str:
    """Return the sentence about what a page proves."""
    return f'<p class="{"good" if good else "bad"}"><strong>{text(told)}</strong></p>'


def listed(title: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield a list with its heading; nothing for an empty list."""
    items = "".join(f"<li>{text(each)}</li>" for each in dict.fromkeys(texts))
    if items:
        yield f"<h2>{text(title)}</h2><ul>{items}</ul>"


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], numbers: int | None = None
) -> str:
    """Return an HTML table.

    Args:
        headers: Names of the columns.
        rows: Their cells.
        numbers: The first of the columns with numbers.
    """
    head = "".join(f"<th>{text(each)}</th>" for each in headers)
    made = [f"<table><tr>{head}</tr>"]
    for row in rows:
        cells = "".join(
            f"<td{_class(place, numbers)}>{text(each)}</td>" for place, each in enumerate(row)
        )
        made.append(f"<tr>{cells}</tr>")
    return "\n".join([*made, "</table>"])


def text(value: object) -> str:
    """Escape a value as HTML text."""
    return escape(str(value), quote=True)


def _class(place: int, numbers: int | None) -> str:
    return ' class="n"' if numbers is not None and place >= numbers else ""
