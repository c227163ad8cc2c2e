"""`towpath kraft` without a cluster: what is refused, what pages and tables say."""

from __future__ import annotations

import hashlib
import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kraft.worlds import (
    at_stage,
    kraft_config,
    start_of,
    with_broker,
    with_controller,
)
from tests.support.pages.pictures import text_of
from towpath.cli.main import main
from towpath.kraft.commands import kraft
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.outline import outline
from towpath.kraft.decide.preflight.preflight import preflight
from towpath.kraft.facts.nouns import Goal, Stage
from towpath.kraft.facts.seen import Unseen
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.run.metering import counts
from towpath.kraft.show import data
from towpath.kraft.show import pictures as shown
from towpath.kraft.show.report import report_data, report_page

CONFIG = kraft_config()


def test_the_commands_are_those_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kraft.md").read_text()
    named = [
        each.name or each.callback.__name__ for each in kraft.registered_commands if each.callback
    ]
    assert named == ["check", "plan", "status", "run", "rollback", "finalize", "report"]
    assert all(f"`towpath kraft {name} kraft.yaml`" in page for name in named)


def test_another_kind_of_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.yaml").write_text('source: {bootstrap: "a:1"}\nlink: x\n')
    assert main(["kraft", "status", str(tmp_path / "x.yaml")]) == 2
    assert "takes the file of such a migration (`kind: kraft`)" in capsys.readouterr().err


def test_a_plan_shows_every_step_with_its_way_back() -> None:
    facts = Facts.of(CONFIG, start_of(CONFIG))
    planned = outline(CONFIG, facts.seen, Goal.FINAL)
    text = text_of(shown.outline_picture(facts, planned))
    assert text.count("way back:") == len(planned.steps)
    before, after = text.split("— from here on nothing leads back")
    assert "restart broker" in before
    assert "without the migration's flag" in after
    assert not re.search(r"(?m)^\d+\. restart broker", after)
    if_not = "way back: only while no controller without the flag was elected: restart"
    assert (before.count(if_not), after.count(if_not)) == (0, len(CONFIG.controllers.nodes) - 1)
    told = json.loads(json.dumps(data.outline_data(facts, planned)))
    assert [each["what"] for each in told["steps"]] == [each.sentence for each in planned.steps]
    assert shown.outline_markdown(facts, planned).count("```diff") >= len(CONFIG.brokers)


def test_the_state_has_the_name_and_number_of_the_kip_and_what_kafka_says() -> None:
    facts = Facts.of(CONFIG, at_stage(CONFIG, Stage.DUAL_WRITE))
    assert shown.standing_text(facts.standing) == (
        "stage dual_write: DualWriteMetadata (3) of KIP-866; Kafka's own metric says 1"
    )
    told = counts(facts)
    assert (told.state, told.kafka_state) == (3, 1)
    assert told.stages["dual_write"] == 1
    assert sum(told.stages.values()) == 1
    assert told.brokers == {"kraft": 3}


def test_a_line_of_a_run_has_the_time_at_which_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step waits long behind the look that it began with."""
    facts, now = Facts.of(CONFIG, at_stage(CONFIG, Stage.HYBRID)), [1_800_000_000_000]
    monkeypatch.setattr(shown, "now_ms", lambda: now[0])
    display = shown.KraftDisplay()
    for text in "stopping node 1", "stopping node 2":
        display.show(facts, text)
        now[0] += 90_000
    first, second = capsys.readouterr().err.splitlines()
    assert first == "2027-01-15T08:00:00Z hybrid: stopping node 1"
    assert second == "2027-01-15T08:01:30Z hybrid: stopping node 2"


def test_a_check_names_what_stops_it_first() -> None:
    seen = with_broker(start_of(CONFIG), 1, properties={"broker.id": "1"})
    findings = preflight(CONFIG, seen)
    lines = text_of(shown.findings_picture(findings)).splitlines()
    assert lines[0].startswith("✗")
    assert "✓" not in "".join(lines)


def test_the_report_is_a_page_with_a_digest_over_its_facts(tmp_path: Path) -> None:
    journal = KraftJournal(tmp_path)
    journal.add(KraftEvent.APPROVED, goal="final", by="<ann>", steps=["a"])
    journal.add(KraftEvent.STEP_DONE, step="Compare", what="compare", seconds=1.5, facts={})
    journal.add(
        KraftEvent.COMPARED,
        equal=False,
        compared={"acls": 3},
        digests={"acls": "d"},
        differences=[{"kind": "acls", "name": "x", "zookeeper": "", "log": "y"}],
    )
    kept = journal.keep(1, "/etc/kafka/server.properties", b"password=hunter2")
    journal.add(KraftEvent.DELETED, znodes={"/controller": '{"brokerid":3000}', "/migration": None})
    facts = Facts.of(CONFIG, replace(at_stage(CONFIG, Stage.FINAL), comparison=None))
    page = report_page(report_data("orders", facts, journal.entries()))
    told = html.unescape(re.findall(r'<pre id="facts">(.*?)</pre>', page, re.DOTALL)[0])
    assert hashlib.sha256(told.encode()).hexdigest() in page
    rows = re.sub(r'<pre id="facts">.*?</pre>', "", page, flags=re.DOTALL)
    assert not re.search(r"True|False|None|\['", rows), "no values as Python shows them"
    assert "&lt;ann&gt;" in page
    assert "<ann>" not in page
    assert "MigrationFinalized (4)" in page
    assert "not equal: 1 difference<" in page
    assert kept in page
    assert "hunter2" not in page
    assert '{"brokerid":3000}' in html.unescape(page)


def test_an_alarm_has_its_code_for_programs_and_a_sentence_for_people() -> None:
    seen = with_controller(at_stage(CONFIG, Stage.DUAL_WRITE), 3001, flag=False)
    facts = Facts.of(CONFIG, seen)
    (alarm,) = data.status_data(facts)["alarms"]
    assert (alarm["alarm"], alarm["code"]) == ("flag_missing", "FLAG_MISSING")
    assert alarm["values"]["controllers"] == ("3001",)
    assert f"{alarm['what']}; {alarm['advice']}" in text_of(shown.status_picture(facts))
    assert "restart them with the flag" in report_page(report_data("orders", facts, ()))


@pytest.mark.parametrize("stage", [Stage.ZOOKEEPER, Stage.DUAL_WRITE, Stage.FINAL])
def test_what_could_not_be_looked_at_is_alarming_until_zookeeper_is_left(stage: Stage) -> None:
    seen = at_stage(CONFIG, stage)
    assert data.is_well(Facts.of(CONFIG, seen))
    away = replace(seen, unseen=(Unseen("ZooKeeper", "it does not answer"),))
    facts = Facts.of(CONFIG, away)
    assert data.is_well(facts) is (stage is Stage.FINAL)
    assert data.status_data(facts)["well"] is data.is_well(facts)
