"""Between two real registries: versions with one text, and other rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.schema_worlds import between
from towpath.schemas.subject import PlacedDifference

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
_RULE = {"name": "hide", "kind": "TRANSFORM", "type": "ENCRYPT", "mode": "WRITE"}
RULES = {"domainRules": [_RULE]}


def test_versions_that_differ_in_rules_alone_are_kept_apart(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    theirs.register("a", record("A", "x"))
    ours.register("a", record("A", "x"))
    ours.register("b", record("B", "x"))
    with between(ours.url, theirs.url, ids="translate") as link:
        link.settle()
        ours.register("a", record("A", "x"), ruleSet=RULES)
        ours.register("a", record("A", "x"), metadata={"properties": {"owner": "shop"}})
        link.settle()
        found = link.look()
        assert isinstance(found, PlacedDifference)
        places = {at.version: to.version for at, to in found.places.items() if at.subject == "a"}
        assert places == {1: 1, 2: 2, 3: 3}
    mine, others = (
        [each.version("a", n).get("ruleSet") for n in (1, 2)] for each in (ours, theirs)
    )
    assert mine[0] is others[0] is None
    assert mine[1] == others[1] is not None
    with between(ours.url, theirs.url, ids="translate", rules="strip", metadata="strip") as link:
        ours.register("b", record("B", "x"), ruleSet=RULES)
        link.settle()
    assert theirs.ask("GET", "/subjects/b/versions") == [1]


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_rules_are_refused_also_where_the_text_is_known(
    new_registry: NewRegistry, ids: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("a", record("A", "x"))
    with between(ours.url, theirs.url, ids=ids, rules="fail") as link:
        link.settle()
        ours.register("a", record("A", "x"), ruleSet=RULES)
        (problem,) = link.sync().problems
        assert str(problem) == "a: version 2 has rules, and the file says `fail`"
    assert theirs.ask("GET", "/subjects/a/versions") == [1]
