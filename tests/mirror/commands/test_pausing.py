"""The option `--topics` of the commands that change what a link copies. Pure."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.cli.main import main


@pytest.mark.parametrize(
    "command", [("pause",), ("resume",), ("rate", "5MB"), ("rate", "--reset"), ("repair",)]
)
@pytest.mark.parametrize("topics", ["", " ", ","])
def test_no_topic_is_not_the_whole_link(
    command: tuple[str, ...], topics: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in `towpath pause link.yaml --topics "$TOPICS"` where the variable is not set."""
    name, *rest = command
    file = tmp_path / "link.yaml"
    sides = "source: {bootstrap: 'a:1'}\ntarget: {bootstrap: 'b:1'}\n"
    file.write_text(f"{sides}link: shop\ntopics: {{include: [orders]}}\n")
    assert main([name, str(file), *rest, "--topics", topics]) == 2
    assert capsys.readouterr().err.strip() == "--topics: name at least one source topic"
