"""What the site has besides the files of docs/: the runbook of the package, the design, a menu."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from towpath.runbook import pages
from towpath.settings.page_links import linked

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the runbook, the decisions, and pages that mkdocs.yml does not name into the menu."""
    menu = {name: part for each in config.nav or () for name, part in each.items()}
    named = {*_named(config.nav)}
    found = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
    decisions = [name for name in found if name.startswith("decisions/")]
    menu["Runbook"] += [f"runbook/{each.name}.md" for each in pages()]
    menu["Reference"] += [name for name in found if name not in {*named, *decisions}]
    menu["Why"].append({"Decisions": decisions})
    return config


def _named(part: Any) -> Iterator[str]:
    """Yield the pages of a part of the menu."""
    if isinstance(part, str):
        yield part
    elif part:
        for each in part.values() if isinstance(part, dict) else part:
            yield from _named(each)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages that live elsewhere in the repository."""
    for page in pages():
        text = linked(page.text, "../")
        files.append(File.generated(config, f"runbook/{page.name}.md", content=text))
    design = (ROOT / "DESIGN.md").read_text()
    files.append(File.generated(config, "design.md", content=design))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """List the pages of the runbook on its first page."""
    if page.file.src_uri != "runbook/index.md":
        return markdown
    rows = [
        f"| {', '.join(f'`{code}`' for code in each.codes)} | [{each.title}]({each.name}.md) |\n"
        for each in pages()
    ]
    return f"{markdown}\n| code | page |\n|---|---|\n{''.join(rows)}"
