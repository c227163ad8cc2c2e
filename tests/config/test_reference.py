"""The reference page is what the fields say."""

from __future__ import annotations

from pathlib import Path

from towpath.config import ArchiveConfig, KraftConfig, LinkConfig
from towpath.config.reference import markdown
from towpath.config.shape import walk

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == markdown(), (
        "stale; run: python -m towpath.config.reference > docs/configuration.md"
    )


def test_every_key_has_a_meaning_and_a_kind_of_value() -> None:
    page = markdown()
    for place, field in (*walk(LinkConfig), *walk(ArchiveConfig), *walk(KraftConfig)):
        assert field.description, place
        assert f"| `{place[-1]}` |" in page
    assert "|  | required" not in page
