"""What `towpath promote` and `towpath revert` refuse before they ask a gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.here import Here


@pytest.mark.parametrize("command", ["promote", "revert"])
@pytest.mark.parametrize("topics", ["", " , "])
def test_an_option_that_names_no_topic_does_not_stand_for_all(
    here: Here, tmp_path: Path, command: str, topics: str
) -> None:
    """As with a variable of a shell that is not set."""
    file = tmp_path / "link.yaml"
    file.write_text(
        "source: {bootstrap: '127.0.0.1:1'}\ntarget: {bootstrap: '127.0.0.1:2'}\n"
        "link: l\ntopics: {include: [a]}\ngateway: {listen: '127.0.0.1:9'}\n"
    )
    ended = here(command, str(file), "--topics", topics)
    assert ended.code == 2, ended.said
    assert "--topics: name at least one source topic" in ended.said
