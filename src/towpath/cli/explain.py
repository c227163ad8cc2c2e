"""`towpath explain`: show a page of the runbook."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from towpath.cli.show.file_shapes import RunbookJson, RunbookPageJson
from towpath.cli.show.output import Output, OutputOption, show
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.runbook import RunbookPage, page_of, pages


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code or an alert; without one, all are listed."),
    ] = None,
    *,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show the meaning of a code or an alert, what is safe, what to look at and what to do."""
    del output  # `show` reads it from the arguments
    if code is None:
        from towpath.cli.show.grid import Grid  # noqa: PLC0415  # a page waits for none of it

        rows = [(name, page.title) for page in pages() for name in page.codes]
        data: RunbookJson = {"pages": [_facts(page) for page in pages()]}
        show(Grid(["code", "meaning"], rows), data)
        return
    page = page_of(code)
    if page is None:
        raise ConfigError((ConfigProblem("CODE", _unknown(code)),))
    show(page.text.rstrip("\n"), {**_facts(page), "text": page.text})


def _facts(page: RunbookPage) -> RunbookPageJson:
    return {"page": page.name, "title": page.title, "codes": list(page.codes)}


def _unknown(code: str) -> str:
    names = [name for page in pages() for name in page.codes]
    near = get_close_matches(code.upper().replace("-", "_"), names, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{code!r} is not in the runbook; {meant}`towpath explain` lists all codes"
