"""The pages of docs/ are a site whose links lead somewhere, and what they show is right."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer._click.exceptions import (
    BadOptionUsage,
    BadParameter,
    NoArgsIsHelpError,
    NoSuchOption,
)

from tests.support.pages.commands import blocks, commands, mentions, parsed
from tests.support.program import environment
from towpath.cli import reference
from towpath.cli.main import COMMANDS
from towpath.runbook import page_of, pages
from towpath.settings import LinkConfig, check

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SHOWN = [ROOT / "README.md", *PAGES, *sorted((ROOT / "src/towpath/runbook").glob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
_FILLED = "FILLED"
_PLACEHOLDERS = BadOptionUsage, BadParameter, NoArgsIsHelpError
"""What is wrong with a command that is not named whole."""
KEYS = set(LinkConfig.model_fields)
LEAST: dict[str, Any] = {
    "source": {"bootstrap": "a:9092"},
    "target": {"bootstrap": "b:9092"},
    "link": "l",
    "topics": {"include": ["orders"]},
}
"""The shortest file of a link, which parts of files complete."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Name the file in what fails here."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {name_of(file)}")
        raise


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """mkdocs warns of links to pages and headings that do not exist, and of pages in no menu."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    built = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("index.html")}
    assert {"begin/index.html", "design/index.html", "reference/commands/index.html"} <= built
    assert {f"runbook/{page.name}/index.html" for page in pages()} <= built
    listed = (tmp_path / "runbook" / "index.html").read_text()
    assert all(code in listed for page in pages() for code in page.codes)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "DESIGN.md", "tests/README.md"])
def test_links_of_files_beside_the_site_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (page.parent / link).exists()] == []


def test_the_page_of_commands_is_fresh_and_has_each_command_and_option() -> None:
    page, text = ROOT / "docs" / "reference" / "commands.md", reference.markdown()
    assert page.read_text() == text, reference.__doc__
    for name in COMMANDS:
        assert f"## `{name}" in text
    assert "## `dev up`" in text
    assert "--until-caught-up" in text
    assert not re.search(r"\| None \||Sentinel|<object", text)


def test_the_commands_that_pages_show_exist() -> None:
    """One test for all pages: to read and to tell of one for each takes longer than to play it."""
    for page in SHOWN:
        with about(page):
            text = page.read_text()
            for arguments in commands(text):
                parsed(arguments)
            for arguments in (*commands(text), *mentions(text)):
                asked = parsed(arguments, whole=False)
                if arguments[:1] == ["explain"] and asked.get("code", "CODE") not in {"CODE", None}:
                    assert page_of(asked["code"]), arguments


def test_the_commands_that_messages_name_exist() -> None:
    for path in SOURCES:
        text = path.read_text()
        if "`towpath" not in text:
            continue
        with about(path):
            for arguments in (found for each in texts(text) for found in mentions(each)):
                with suppress(*_PLACEHOLDERS):
                    parsed(arguments, whole=False)


def texts(code: str) -> Iterator[str]:
    """Yield the texts of a module, each with words in the place of what is filled in."""
    for node in ast.walk(ast.parse(code)) if "`towpath" in code else ():
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        words = [str(p.value) if isinstance(p, ast.Constant) else _FILLED for p in parts]
        if words != [_FILLED]:
            yield "".join(words).replace("\\", "").replace(f"towpath {_FILLED}", "towpath COMMAND")


def test_an_option_that_does_not_exist_is_found_in_a_message() -> None:
    [arguments] = mentions(max(texts("f'`towpath restart {file} --topicz {name}`'"), key=len))
    with pytest.raises(NoSuchOption):
        parsed(arguments, whole=False)


def test_the_yaml_that_pages_show_is_right(tmp_path: Path) -> None:
    """A block with keys of a link is a link, or the part of one; another kind says what it is."""
    for page in SHOWN:
        with about(page):
            for block in blocks(page.read_text(), "yaml"):
                judge(block, tmp_path)


def judge(block: str, folder: Path) -> None:
    data = YAML(typ="safe").load(block)
    assert isinstance(data, dict), block
    if "kind" in data:
        archive = folder / "archive.yaml"
        archive.write_text(block)
        assert check(archive, with_environment=False) == (), block
        return
    if {"input", "output"} <= set(data):
        migrator = folder / "connect.yaml"
        migrator.write_text(block)
        assert check(migrator, with_environment=False) == (), block
        return
    if not set(data) <= KEYS:
        assert not KEYS & set(data), f"some keys are none of a link: {block}"
        return
    file = folder / "link.yaml"
    if set(LEAST) <= set(data):
        file.write_text(block)
    else:
        YAML(typ="safe").dump(LEAST | data, file)
    assert check(file, with_environment=False) == (), block


def test_there_are_links_parts_of_links_and_other_files_among_them() -> None:
    found = [YAML(typ="safe").load(b) for page in SHOWN for b in blocks(page.read_text(), "yaml")]
    assert any(set(LEAST) <= set(data) for data in found)
    assert any(set(data) < KEYS and not set(LEAST) <= set(data) for data in found)
    assert any(not KEYS & set(data) for data in found)


def test_clients_get_their_rights_before_they_are_started() -> None:
    """Transactional producers and Kafka Streams die for good where they may not write."""
    page = (ROOT / "docs" / "howto" / "migrate.md").read_text()
    rights, starts = page.index("Set `acls: full`"), page.index("point all clients at the target")
    assert page.index("towpath cutover link.yaml --report") < rights < starts
