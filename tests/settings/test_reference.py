"""The reference pages are what the fields say."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.settings.kinds import KINDS, FileKind
from towpath.settings.page_links import linked
from towpath.settings.reference import markdown
from towpath.settings.shape import walk

PAGES = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("kind", FileKind)
def test_the_page_is_fresh(kind: FileKind) -> None:
    assert (PAGES / f"{kind}-file.md").read_text("utf-8") == markdown(kind), (
        f"stale; run: python -m towpath.settings.reference {kind} > docs/reference/{kind}-file.md"
    )


@pytest.mark.parametrize("kind", FileKind)
def test_every_key_has_a_meaning_and_a_kind_of_value(kind: FileKind) -> None:
    page = markdown(kind)
    for place, field in walk(KINDS[kind].model):
        assert field.description, place
        assert f"| `{place[-1]}` |" in page
    assert "|  | required" not in page


def test_names_of_pages_become_links() -> None:
    text = (
        "Slower (docs/rate.md), as `docs/howto/move-groups.md` says; docs/link.schema.json stays."
    )
    assert linked(text, "../") == (
        "Slower ([rate](../rate.md)), as [move groups](../howto/move-groups.md) says;"
        " docs/link.schema.json stays."
    )
