"""The alerts and the dashboard fit what a run serves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.support.pages.metrics import full, scrape
from tests.support.pages.promtool import fetch
from tests.support.pages.queries import DASHBOARD, RULES, assert_served, expressions, rules, unknown

TESTS = sorted(RULES.parent.glob("*.tests.yml"))


@pytest.fixture(scope="session")
def promtool() -> Path:
    program = fetch()
    if program is None:
        pytest.skip("promtool is neither on PATH nor in a package that apt-get can download")
    return program


def ask(program: Path, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(program), *arguments]
    return subprocess.run(command, input=said, text=True, capture_output=True, check=False)


def test_every_name_and_label_in_a_query_is_served() -> None:
    assert_served(scrape(full()))


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ('sum by (topic) (towpath_gaps{topic=~"a{1,2}", job="x"}) > 1e3', []),
        ("rate(towpath_gap[5m])", ["metric towpath_gap"]),
        ('towpath_gaps{link="a"}', ["towpath_gaps{link}"]),
        ("sum by (link) (towpath_gaps)", ["label link"]),
        ("towpath_gaps * on (job) group_left (link) towpath_info", []),
        ("time() - 5", ["no metric at all"]),
    ],
)
def test_a_query_of_what_is_not_served_is_found(expression: str, wrong: list[str]) -> None:
    assert [*unknown(expression, scrape(full()).labels)] == wrong


@pytest.mark.slow
def test_the_alerts_do_what_they_should(promtool: Path) -> None:
    done = ask(promtool, "test", "rules", *map(str, TESTS))
    assert done.returncode == 0, done.stdout + done.stderr
    tested = [test for file in TESTS for test in YAML(typ="safe").load(file)["tests"]]
    cases = [case for test in tested for case in test["alert_rule_test"]]
    for fires in (True, False):
        names = {case["alertname"] for case in cases if bool(case.get("exp_alerts")) is fires}
        assert names == {rule["alert"] for rule in rules()}, f"each is tested, fires: {fires}"


def test_each_query_is_promql(promtool: Path, tmp_path: Path) -> None:
    file = tmp_path / "queries.yml"
    recorded = [
        {"record": f"query_{n}", "expr": text} for n, text in enumerate(expressions().values())
    ]
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": recorded}]}))
    done = ask(promtool, "check", "rules", str(file))
    assert done.returncode == 0, done.stderr


def test_the_names_are_as_prometheus_wants_them(promtool: Path) -> None:
    """But for five of Redpanda's."""
    done = ask(promtool, "check", "metrics", said=scrape(full()).text)
    complaints = {line.partition(" ")[0] for line in (done.stdout + done.stderr).splitlines()}
    assert complaints == {
        "redpanda_migrator_topic_create_latency_ns",
        "redpanda_migrator_cg_offset_translation_latency_ns",
        "redpanda_migrator_cg_offset_commit_latency_ns",
        "redpanda_migrator_sr_compatibility_update_latency_ns",
        "redpanda_migrator_sr_schema_create_latency_ns",
    }


def test_the_dashboard_can_be_imported() -> None:
    board = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len({*ids}) == len(ids)
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in panels)
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y)
        for p in places
        for x in range(p["x"], p["x"] + p["w"])
        for y in range(p["y"], p["y"] + p["h"])
    ]
    assert len({*cells}) == len(cells), "panels do not cover each other"
    assert max(x for x, _ in cells) < 24
