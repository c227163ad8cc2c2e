"""What `towpath promote` and `towpath revert` refuse before they ask a gateway."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.here import Here
from towpath.settings.sections.gateway import GatewayConfig


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


@pytest.mark.parametrize("command", ["promote", "revert"])
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ["--batch", "second"],
            "'second' is not in `gateway.batches` of the file, which has first",
        ),
        (["--batch", "first", "--topics", "a"], "names topics by itself: leave `--topics` out"),
    ],
)
def test_a_batch_is_one_of_the_file_and_stands_alone(
    here: Here, tmp_path: Path, command: str, options: list[str], why: str
) -> None:
    file = tmp_path / "link.yaml"
    file.write_text(
        "source: {bootstrap: '127.0.0.1:1'}\ntarget: {bootstrap: '127.0.0.1:2'}\n"
        "link: l\ntopics: {include: [a]}\n"
        "gateway: {listen: '127.0.0.1:9', batches: {first: [a]}}\n"
    )
    ended = here(command, str(file), *options)
    assert ended.code == 2, ended.said
    assert f"--batch: {why}" in ended.said


@pytest.mark.parametrize("command", ["promote", "revert"])
def test_a_gateway_that_is_gone_has_a_name(here: Here, tmp_path: Path, command: str) -> None:
    """As with a variable of a script that is not set."""
    file = tmp_path / "link.yaml"
    file.write_text(
        "source: {bootstrap: '127.0.0.1:1'}\ntarget: {bootstrap: '127.0.0.1:2'}\n"
        "link: l\ntopics: {include: [a]}\ngateway: {listen: '127.0.0.1:9'}\n"
    )
    ended = here(command, str(file), "--gone", "")
    assert ended.code == 2, ended.said
    assert "--gone: needs the name of a gateway" in ended.said


@pytest.mark.parametrize(
    ("batches", "why"),
    [
        ({"first": ["a", "b"], "last": ["b"]}, "topic b is in first and in last"),
        ({"first": []}, "needs at least one entry"),
        ({"first": ["a.*"]}, "'a.*' is no name of a topic"),
        ({"--first": ["a"]}, "should match pattern"),
    ],
)
def test_batches_name_each_topic_once(batches: dict[str, list[str]], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        GatewayConfig.model_validate({"listen": "127.0.0.1:9", "batches": batches})
    assert why in str(caught.value)
