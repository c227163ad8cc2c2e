"""The examples of configuration that the migrator's documentation gives become links."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.support.copying.connect_examples import EXAMPLES, whole
from towpath.mirror.connect.convert import convert
from towpath.mirror.connect.load import check, examine, translation
from towpath.settings import LinkConfig, from_tree, load
from towpath.settings import check as check_any


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_a_link(name: str, tmp_path: Path) -> None:
    text, told = EXAMPLES[name]
    path = tmp_path / "connect.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(whole(text), file)
    assert check(path) == ()
    found = examine(path)
    assert found.file is not None
    made = translation(found)
    assert made.problems == ()
    config = from_tree(made.tree, tmp_path)
    assert isinstance(config, LinkConfig)
    converted = tmp_path / "link.yaml"
    converted.write_text(convert(path, config.link).text)
    assert check_any(converted) == ()
    assert load(converted) == config
    for section, content in told.items():
        assert made.tree[section].items() >= content.items(), section
    # What nobody asks to leave out is as there: groups, and headers that lead nothing round.
    assert "migration" in made.tree["groups"]["exclude"][-1]
    [change] = made.tree["changes"][-1:]
    assert change["redpanda"]["provenance"] == "redpanda-migrator-provenance"
    assert change["drop"] == [{"name": "from-target", "provenance": "redpanda-migrator-provenance"}]
