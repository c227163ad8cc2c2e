"""How notes and problems read, alone and in a plan."""

from __future__ import annotations

import pytest

from towpath.mirror.show.plan_picture import as_markdown
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import LinkName
from towpath.plan.explain import remarks
from towpath.plan.model import Plan


@pytest.mark.parametrize(
    ("about", "text", "said"),
    [
        ("target", "target: creating x: refused", "target: creating x: refused"),
        ("source", "is down", "source: is down"),
        ("source", "not known: source: looking at x", "source: not known: looking at x"),
        ("target", "source: looking at x", "target: source: looking at x"),
        ("orders", "source: looking at x", "orders: source: looking at x"),
        ("orders", "orders: is odd", "orders: orders: is odd"),
    ],
)
def test_a_side_is_said_once(about: str, text: str, said: str) -> None:
    note, problem = Note(about, text), Problem(about, text, Cause.CLUSTER)
    plan = Plan(link=LinkName("l"), source=None, target=None, notes=(note,), problems=(problem,))
    assert (str(note), str(problem)) == (said, said)
    assert remarks(plan) == [f"note: {said}", f"problem: {said}"]
    shown = as_markdown(plan)
    assert f"\n- {said}\n" in shown
    assert f"\n- **{about}**{said.removeprefix(about)}\n" in shown
    assert [each["text"] for each in plan.as_data()["problems"]] == [text]
