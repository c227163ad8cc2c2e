"""What a bench found, written as figures and as the page that is committed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def publish(out: Path, name: str, found: Any, page: Iterable[str]) -> Path:
    """Write the figures and the page, behind today's date, and show the page.

    Args:
        out: The folder.
        name: What was measured.
        found: The figures, for `json`.
        page: The lines of the page.

    Returns:
        The file with the page; the figures are beside it.
    """
    file = out / f"{datetime.now(UTC).date()}-{name}.md"
    text = "\n".join(page) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    file.write_text(text)
    print(text)
    return file


def head_of_page(title: str, found: Any) -> Iterator[str]:
    """Yield the head of a page: its title, the date, and the machine."""
    yield from (f"# {title}, measured on {found['date']}", "")
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())


def head_of_set(name: str, of_set: Any, more: str = "") -> Iterator[str]:
    """Yield the head of what was found with one set of records, and `more` about their size."""
    mib = of_set["record_bytes"] / (1 << 20)
    yield from ("", f"## {name}: {of_set['about']}", "")
    partitions = f"{of_set['partitions']} partitions"
    yield f"{of_set['records']:,} records in {partitions}, {mib:,.0f} MiB{more}."


def some_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return what reads a list of such names, in their order, with commas between them."""

    def read(text: str) -> tuple[str, ...]:
        wanted = text.split(",")
        if unknown := [name for name in wanted if name not in known]:
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)}: not known; there are {', '.join(known)}"
            )
        return tuple(name for name in known if name in wanted)

    return read
