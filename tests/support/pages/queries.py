"""The expressions that `deploy/` gives to Prometheus, and what they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.support.pages.scrape import Scrape
from towpath.archive.metrics import restore_names
from towpath.archive.metrics import run_names as archive_names
from towpath.gateway import metric_names as gateway_names
from towpath.kraft.metrics import names as kraft_names
from towpath.mirror.metrics.names import ALL

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = DEPLOY / "prometheus" / "towpath.rules.yml"
DASHBOARD = DEPLOY / "grafana" / "towpath.json"

BY_PROMETHEUS = {"job", "instance"}
"""Labels that each series gets when it is scraped."""

_TEXT = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_MATCHERS = re.compile(r"(\w+)\s*\{([^}]*)\}")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_NAME = re.compile(r"(?<![\w.])[a-zA-Z_]\w*(?!\w*\s*\()")
_WORDS = {"and", "or", "unless", "offset", "bool"}
_VARIABLES = {"$__rate_interval": "5m", "$link": ".*", "$topic": ".*"}
_LABEL_VALUES = re.compile(r"label_values\((\w+), (\w+)\)")


def rules() -> list[dict[str, Any]]:
    """Return the alerts."""
    groups = YAML(typ="safe").load(RULES)["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> dict[str, str]:
    """Return every expression by where it stands, the variables of Grafana put in."""
    found = {f"alert {rule['alert']}": rule["expr"] for rule in rules()}
    board = json.loads(DASHBOARD.read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            found[f"panel {panel['title']}, {target['refId']}"] = _filled(target["expr"])
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = _LABEL_VALUES.fullmatch(variable["query"]["query"]).groups()  # type: ignore[union-attr]
            found[f"variable {variable['name']}"] = f"group by ({label}) ({metric})"
    return found


def _filled(expression: str) -> str:
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression


def assert_served(got: Scrape) -> None:
    """Every name and every label in every expression is in what a run serves.

    The labels of a metric that has no series now, such as one of errors, are those of its name.
    """
    assert {m.name.removesuffix("_total") for m in ALL} == {each.name for each in got.families}
    named = (*ALL, *archive_names.ALL, *restore_names.ALL, *kraft_names.ALL, *gateway_names.ALL)
    labels = {series: {*m.labels} for m in named for series in m.series}
    assert got.labels == {name: labels[name] for name in got.labels}
    wrong = {where: [*unknown(text, labels)] for where, text in expressions().items()}
    assert {where: names for where, names in wrong.items() if names} == {}


def unknown(expression: str, labels: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield what an expression names that is not there.

    Args:
        expression: In PromQL.
        labels: Names of labels by the name of the series.
    """
    grouped = {
        word for group in _GROUPING.findall(expression) for word in re.findall(r"\w+", group)
    }
    rest = re.sub(r"\[[^]]*\]", "", _GROUPING.sub("", _TEXT.sub('""', expression)))
    matched = [(name, _MATCHER.findall(text)) for name, text in _MATCHERS.findall(rest)]
    names = set(_NAME.findall(_MATCHERS.sub(r"\1", rest))) - _WORDS
    yield from (f"metric {name}" for name in names - labels.keys())
    for name, used in matched:
        yield from (
            f"{name}{{{label}}}" for label in {*used} - labels.get(name, set()) - BY_PROMETHEUS
        )
    there = BY_PROMETHEUS.union(*(labels.get(name, set()) for name in names))
    yield from (f"label {label}" for label in grouped - there)
    if not names:
        yield "no metric at all"
