"""Plans in files: what is saved can be applied, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towpath.access.steps import SetQuota
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import ConfigError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.saved import _digest, is_saved, load_plan, save
from towpath.topics.steps import AddPartitions, CreateTopic, SetConfigs

ORDERS = TopicName("orders")
PLAN = Plan(
    link=LinkName("orders-to-new"),
    source=ClusterFacts(("a:1",), ClusterId("A"), "4.1", 3),
    target=ClusterFacts(("b:1", "b:2"), ClusterId("B"), "4.1", 1),
    topics={ORDERS: ORDERS},
    steps=(
        CreateTopic(
            source=ORDERS,
            target=ORDERS,
            partitions=3,
            replication_factor=1,
            configs={"retention.ms": "-1"},
            held={"retention.ms": "5"},
        ),
        AddPartitions(ORDERS, ORDERS, 1, 2),
        SetConfigs(
            source=ORDERS,
            target=ORDERS,
            set={"a": "1"},
            remove=("b",),
            before={"a": None, "b": "2"},
        ),
        SetQuota(Quota((Entity(EntityKind.USER, "ann"),), QuotaKey.PRODUCER_BYTE_RATE), 2.0, None),
    ),
    notes=(Note("orders", "a note"),),
    problems=(Problem("payments", "a problem", Cause.TOPIC),),
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRROR_PASSWORD", "hunter2-in-the-environment")
    yaml = tmp_path / "link.yaml"
    yaml.write_text(
        "source: {bootstrap: 'a:1', sasl: {mechanism: PLAIN, username: m, password:"
        " 'env:MIRROR_PASSWORD'}}\n"
        "target: {bootstrap: 'b:1'}\nlink: orders-to-new\ntopics: {include: [orders]}\n"
    )
    to = tmp_path / "plan.json"
    save(PLAN, yaml, to)
    return to


def edited(file: Path, **changes: Any) -> Path:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return file


def signed(file: Path, **changes: Any) -> Path:
    """Change a plan as no hand does, but another program might."""
    data = {key: value for key, value in json.loads(file.read_text()).items() if key != "digest"}
    data |= changes
    file.write_text(json.dumps({**data, "digest": _digest(data)}))
    return file


def refusal(file: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load_plan(file, SUBJECTS.kinds)
    return str(raised.value)


def test_a_plan_comes_back(file: Path) -> None:
    found = load_plan(file, SUBJECTS.kinds)
    assert found.plan == PLAN
    assert found.config.link == "orders-to-new"
    assert is_saved(file)
    assert not is_saved(file.with_name("link.yaml"))


def test_no_secret_is_saved(file: Path) -> None:
    text = file.read_text()
    assert "hunter2" not in text
    assert "env:MIRROR_PASSWORD" in text
    sasl = load_plan(file, SUBJECTS.kinds).config.source.sasl
    assert sasl is not None
    assert sasl.password.reveal() == "hunter2-in-the-environment"  # type: ignore[union-attr]


def test_an_edited_plan_is_refused(file: Path) -> None:
    steps = json.loads(file.read_text())["steps"]
    said = refusal(edited(file, steps=[{**steps[0], "partitions": 4}, *steps[1:]]))
    assert said == (
        f"{file}: was edited since it was made; change the YAML file instead, then make the plan"
        " again with `towpath plan FILE --save`"
    )


def test_a_plan_whose_variables_name_another_link_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGE", "new")
    yaml = file.with_name("link.yaml")
    yaml.write_text(yaml.read_text().replace("orders-to-new", "orders-to-${STAGE}"))
    save(PLAN, yaml, file)
    assert load_plan(file, SUBJECTS.kinds).plan == PLAN
    monkeypatch.setenv("STAGE", "old")
    assert refusal(file) == (
        f"{file}: was made for link 'orders-to-new', and `link: orders-to-${{STAGE}}` names link"
        " 'orders-to-old' now; give the variables the values that they had, or make the plan again"
    )


def test_a_plan_of_a_newer_program_is_refused(file: Path) -> None:
    assert "was written in format 2, this program knows up to 1" in refusal(edited(file, format=2))


@pytest.mark.parametrize(
    ("step", "changes", "said"),
    [
        (0, {"do": "RenameTopic"}, "steps[0]: 'RenameTopic' is no step"),
        (0, {"partitions": "many"}, "steps[0].partitions: 'many' is nothing"),
        (
            3,
            {"quota": {"entities": [{"kind": "user", "name": "ann"}], "key": "producer_byte_rat"}},
            "steps[3].quota.key: 'producer_byte_rat' is nothing",
        ),
        (
            3,
            {"quota": {"entities": [{"kind": "team", "name": "a"}], "key": "producer_byte_rate"}},
            "steps[3].quota.entities.0.kind: 'team' is nothing",
        ),
    ],
)
def test_a_step_of_a_later_program_is_refused(
    file: Path, step: int, changes: dict[str, Any], said: str
) -> None:
    """Such as a quota of a kind that is not known: its digest is right."""
    steps = json.loads(file.read_text())["steps"]
    steps[step] |= changes
    assert refusal(signed(file, steps=steps)) == (
        f"{said} that this Towpath knows; use the one that planned it"
    )


@pytest.mark.parametrize(
    "odd",
    [{"source": {}}, {"notes": [{"x": 1}]}, {"problems": [{"about": "a"}]}, {"steps": ["create"]}],
)
def test_a_plan_whose_parts_are_none_is_refused(file: Path, odd: dict[str, Any]) -> None:
    said = refusal(signed(file, **odd))
    assert said == f"{file}: is incomplete: a part has the wrong form; make the plan again"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not a saved plan: it is not JSON"),
        ("[]", "is not a saved plan; `towpath plan FILE --save` makes one"),
        ('{"format": 1}', "is incomplete: towpath, made, file"),
        ('{"format": ' + "[" * 100_000, "is not a saved plan: it is nested too deeply"),
        ('{"format": ' + "[" * 100_000 + "]" * 100_000 + "}", "it is nested too deeply"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    assert why in refusal(file)


def test_a_file_that_is_away(tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    assert is_saved(file)
    assert not is_saved(tmp_path / "none.yaml")
    assert refusal(file) == f"{file}: no such plan; `towpath plan FILE --save {file}` makes one"
    assert "cannot be read: Is a directory" in refusal(tmp_path)
