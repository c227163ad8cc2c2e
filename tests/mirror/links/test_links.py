"""Links are created, listed, shown and removed by the target alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from towpath.dev import ports
from towpath.ledger.entries import Twinned
from towpath.ledger.link import open_link
from towpath.model.nouns import LinkName
from towpath.settings import load

pytestmark = pytest.mark.broker


@pytest.fixture
def file(tmp_path: Path, target: SharedCluster, new_name: Callable[[str], str]) -> Path:
    """A link whose source is not there."""
    name, (port,) = new_name("made"), ports.reserve(1)
    made = tmp_path / f"{name}.yaml"
    made.write_text(
        f"source: {{bootstrap: '127.0.0.1:{port}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {name}\n"
        "topics: {include: [orders, 'pay.*'], exclude: [pay.old]}\n"
    )
    return made


def topics(cluster: SharedCluster) -> set[str]:
    found = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=30).topics
    return {name for name in found if name != "__towpath_ledger"}


def test_a_link_is_created_without_its_source_and_nothing_else_is_touched(
    file: Path, target: SharedCluster, here: Here
) -> None:
    before, name = topics(target), file.stem
    made = here("link", "create", str(file), "-o", "json")
    assert (made.code, made.json["new"], made.json["changed"]) == (0, True, False), made.said
    made_since = topics(target) - before  # other tests make topics of their own meanwhile
    assert not {each for each in made_since if each in {"orders", "bills"} or "pay" in each}
    again = here("link", "create", str(file), "-o", "json").json
    assert (again["new"], again["changed"]) == (False, False)
    assert again["created_at"] == made.json["created_at"]
    (row,) = [
        each
        for each in here("link", "ls", str(file), "-o", "json").json["links"]
        if each["link"] == name
    ]
    assert (row["state"], row["running"], row["source_cluster"]) == ("created", False, "")
    assert name in here("link", "ls", str(file)).said
    file.write_text(file.read_text().replace("orders, ", "orders, bills, "))
    changed = here("link", "create", str(file), "-o", "json").json
    assert (changed["changed"], changed["include"]) == (True, ["orders", "bills", "pay.*"])
    shown = here("link", "show", str(file), "-o", "json").json
    assert (shown["link"]["state"], shown["topics"]) == ("created", [])
    assert "nothing is copied yet" in here("link", "show", str(file)).said


def test_a_link_that_never_ran_is_removed_whole_and_its_name_is_free(
    file: Path, here: Here
) -> None:
    refused = here("link", "show", str(file))
    assert "LINK_UNKNOWN" in refused.said
    assert (refused.code, "knows no link" in refused.said) == (4, True), refused.said
    here("link", "create", str(file))
    shown = here("link", "rm", str(file), "--dry-run")
    assert "never ran" in shown.said
    gone = here("link", "rm", str(file), "--yes", "-o", "json")
    assert (gone.code, gone.json["done"], gone.json["entries"]) == (0, True, 1), gone.said
    assert here("link", "show", str(file)).code == 4
    assert here("link", "create", str(file), "-o", "json").json["new"]


def test_a_rehearsed_removal_ends_as_the_deed_would_and_the_plan_says_that_it_is_done(
    file: Path, source: SharedCluster, here: Here
) -> None:
    lines = file.read_text().splitlines()
    file.write_text("\n".join([f"source: {{bootstrap: '{source.bootstrap}'}}", *lines[1:]]))
    with open_link(load(file)) as link:
        link.prepare()
        link.ledger.append([Twinned(link=link.name, twin=LinkName("other"), at=1)])
    for words in (["--dry-run"], ["--yes"]):
        refused = here("link", "rm", str(file), *words)
        assert (refused.code, "add --release" in refused.said) == (3, True), refused.said
    foretold = here("link", "rm", str(file), "--dry-run", "--release")
    assert (foretold.code, "add --release" in foretold.said) == (0, False), foretold.said
    assert here("link", "rm", str(file), "--yes", "--release").code == 0
    (problem,) = here("plan", str(file), "-o", "json").json["problems"]
    assert "its name is not used again" in problem["text"]
    assert "repair" not in problem["text"]
