"""What `towpath http` refuses before it listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.here import Here

LINK = (
    "source: {{bootstrap: 'a:1'}}\ntarget: {{bootstrap: 'b:1'}}\n"
    "link: {name}\ntopics: {{include: [a]}}\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "one.yaml"
    made.write_text(LINK.format(name="one"))
    return made


def test_each_wrong_option_is_named(here: Here, file: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-token")
    right = f"--token=file:{token}"
    for options, said in (
        (("--token=plain-text",), "--token"),
        (("--token=env:NOT_SET_ANYWHERE",), "NOT_SET_ANYWHERE"),
        ((right, "--listen=0.0.0.0:9420"), "the token needs TLS"),
        ((right, "--listen=nowhere"), "--listen"),
        ((right, "--key=key.pem"), "--cert"),
        ((right, "--listen=0.0.0.0:9420", f"--cert={tmp_path}/none.pem"), "cannot be read"),
    ):
        done = here("http", str(file), *options)
        assert done.code == 2, done.said
        assert said in done.said
        assert "plain-text" not in done.said


def test_two_files_of_one_link_are_refused_with_all_other_faults(here: Here, file: Path) -> None:
    again, wrong = file.with_name("again.yaml"), file.with_name("wrong.yaml")
    again.write_text(file.read_text())
    wrong.write_text(LINK.format(name="two") + "tpics: {}\n")
    done = here("http", *map(str, (file, again, wrong)), "--token=env:PATH")
    assert done.code == 2
    assert "link one is that of one.yaml already" in done.said
    assert "tpics" in done.said
