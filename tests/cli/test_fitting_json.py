"""The check that tests make of each result: does it fit the schema of its command?"""

from __future__ import annotations

import pytest

from tests.support.here import Here
from tests.support.json_outputs import command_of, require_fits
from towpath.cli import explain
from towpath.cli.show import output

RATE = ("rate", "shop.yaml", "--output", "json")


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (RATE, "rate"),
        (("--debug", "groups", "ls", "shop.yaml"), "groups ls"),
        (("archive", "run", "run.yaml", "--no-wait"), "archive run"),
        (("groups",), ""),
        ((), ""),
    ],
)
def test_a_command_is_known_by_its_words(arguments: tuple[str, ...], command: str) -> None:
    assert command_of(arguments) == command


def test_what_no_type_has_is_refused() -> None:
    rates = '{"link": null, "file": {"link": null, "topics": {}}, "set": []}'
    require_fits(RATE, f'{{"link": "shop", "max_rate": {rates}}}')
    require_fits(RATE, '{"error": {"code": "USAGE", "text": "no", "problems": []}}')
    for told in ('{"link": "shop"}', f'{{"link": 1, "max_rate": {rates}}}', '{"error": {}}'):
        with pytest.raises(AssertionError, match=r"schema\.json"):
            require_fits(RATE, told)
    require_fits(RATE[:2], "no limit\n")


def test_results_are_looked_at_as_text_too(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vars(explain)["show"] is output.show, "a command was imported before the check"
    assert here("explain").code == 0
    monkeypatch.setattr(explain, "_facts", lambda _page: {"page": 1})
    wrong = here("explain", "FAULT")
    assert (wrong.code, "explain.schema.json" in wrong.err) == (1, True)
