"""Each reason, error and alert has a page of the runbook, and each page is about some of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import towpath
from tests.support.ledger.standings import ROW
from tests.support.pages.commands import blocks
from tests.support.pages.queries import rules
from towpath.cli.main import main
from towpath.cli.show.output import console
from towpath.dev.errors import DevError
from towpath.ledger.entries import Gap
from towpath.mirror.show.status_picture import picture
from towpath.mirror.status.open_transaction import HANGING
from towpath.mirror.status.partition_status import State
from towpath.model.errors import ConfigError, StoppedError, TowpathError
from towpath.model.nouns import LinkName, ProducerId, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.runbook import RunbookPage, pages, pointers

HEADINGS = ["What it means", "What is safe", "What to look at", "What to do"]
OF_COMMANDS = {"FAULT", "DIFFERENT", "NOT_PROVEN", "ARCHIVE_DIFFERENT", HANGING}
"""Codes of commands that are neither reasons nor errors."""
SOURCE = Path(towpath.__file__).parent


def load_errors() -> None:
    """Import each module that defines errors, so that their classes are known."""
    for file in sorted(SOURCE.rglob("*.py")):
        if re.search(r"^class \w+Error\(", file.read_text(), re.MULTILINE):
            import_module(".".join(("towpath", *file.relative_to(SOURCE).with_suffix("").parts)))


def below(cls: type[TowpathError]) -> Iterator[type[TowpathError]]:
    yield cls
    for each in cls.__subclasses__():
        yield from below(each)


def codes() -> set[str]:
    """All that is shown to people, but for what says all in its sentence."""
    load_errors()
    whole = ConfigError, DevError, StoppedError
    told = [e for e in below(TowpathError) if not issubclass(e, whole)]
    named = {e.code for e in told if e.__module__.startswith("towpath.")}
    return named | set(map(str, ReasonCode)) | OF_COMMANDS


def test_each_code_and_each_alert_has_one_page_and_each_page_has_one() -> None:
    explained = [name for page in pages() for name in page.codes]
    assert len(explained) == len({*explained})
    assert {*explained} == codes() | {rule["alert"] for rule in rules()}


def test_each_alert_names_its_page() -> None:
    for rule in rules():
        assert rule["annotations"]["runbook"] == f"towpath explain {rule['alert']}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_says_what_it_means_what_is_safe_what_to_look_at_and_what_to_do(
    page: RunbookPage,
) -> None:
    parts = re.split(r"^## (.+)\n", page.text, flags=re.MULTILINE)
    assert parts[1::2] == HEADINGS
    assert all(len(part.split()) >= 5 for part in parts[2::2])
    assert blocks(page.text, "bash"), "it names a command to look with"


@pytest.mark.parametrize("name", ["TARGET_LOST", "target-lost", "Target_Lost"])
def test_a_page_is_found_however_its_name_is_written(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# The target lost records")
    assert "towpath repair link.yaml --topics orders" in said
    assert main(["explain", name, "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["page"], told["codes"], told["text"]) == ("target-lost", ["TARGET_LOST"], said)


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    said = capsys.readouterr().out
    assert all(f"{name} " in said for page in pages() for name in page.codes)


def test_a_code_that_is_not_there_leads_to_the_nearest_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "taget_lost"]) == 2
    assert capsys.readouterr().err == (
        "CODE: 'taget_lost' is not in the runbook; did you mean TARGET_LOST? `towpath explain`"
        " lists all codes\n"
    )


def test_status_points_to_each_page_once(capsys: pytest.CaptureFixture[str]) -> None:
    why = Reason.of(ReasonCode.RETENTION)
    gap = Gap(
        link=LinkName("l"), topic=ROW.topic, partition=0, producer_id=ProducerId(7),
        first=SourceOffset(5), end=SourceOffset(9), why=why, went_on=True, at=0,
    )  # fmt: skip
    lost = replace(ROW, state=State.STOPPED, error="target: lost", codes=("TARGET_LOST",))
    rows = [replace(ROW, gaps=(gap,), codes=("RETENTION",)), lost, replace(lost, partition=1)]
    console().print(picture(rows))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[-2:] == ["see `towpath explain RETENTION`", "see `towpath explain TARGET_LOST`"]
    assert lines.count("see `towpath explain TARGET_LOST`") == 1


def test_the_cause_of_a_reason_has_its_page_too() -> None:
    gap = Reason.of(ReasonCode.GAP, first=1, last=2, why=Reason.of(ReasonCode.RETENTION))
    assert gap.codes == ("GAP", "RETENTION")
    held = Reason.of(ReasonCode.ERROR, error="LEDGER", text="away")
    assert held.codes == ("LEDGER",)
    assert pointers([*gap.codes, *held.codes, "LEDGER_NEWER", "not there"]) == [
        "see `towpath explain GAP`",
        "see `towpath explain RETENTION`",
        "see `towpath explain LEDGER`",
    ]
