"""Changes of a link's file while its run goes on. Pure, but for the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.mirror.run import changed_file
from towpath.mirror.run.changed_file import ChangedFile, sections
from towpath.settings import load

TEXT = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: shop
topics: {include: [orders]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "link.yaml"
    made.write_text(TEXT)
    return made


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both clusters agree to whatever fits otherwise."""
    monkeypatch.setattr(changed_file, "_require_plan", lambda _config: None)


@pytest.mark.usefixtures("fits")
def test_a_change_is_taken_over_once_the_file_rests(file: Path) -> None:
    followed = ChangedFile(file, load(file))
    assert followed.look() is None
    file.write_text(TEXT.replace("[orders]", "[orders, users]"))
    assert followed.look() is None, "it may still be written"
    fresh = followed.look()
    assert fresh is not None
    assert sections(load(file), fresh) == ()
    assert (followed.look(), followed.trouble) == (None, "")


@pytest.mark.usefixtures("fits")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("link: shop", "link: other"), "link: holds from the start of a run"),
        (TEXT + "metrics: {listen: '127.0.0.1:9'}\n", "metrics: holds from the start of a run"),
        (TEXT.replace("include", "includes"), "includes"),
        ("source: [", "not taken over"),
    ],
)
def test_what_cannot_be_taken_over_is_told_and_the_run_goes_on(
    file: Path, text: str, said: str
) -> None:
    followed = ChangedFile(file, load(file))
    file.write_text(text)
    assert [followed.look(), followed.look()] == [None, None]
    assert said in followed.trouble
    assert "the run goes on as before" in followed.trouble
    file.write_text(TEXT)
    assert [followed.look(), followed.look(), followed.trouble] == [None, None, ""]


def test_comments_and_a_file_that_is_away_for_a_moment_change_nothing(file: Path) -> None:
    followed = ChangedFile(file, load(file))
    file.unlink()
    assert [followed.look(), followed.look()] == [None, None]
    file.write_text("# new words\n" + TEXT)
    assert [followed.look(), followed.look(), followed.trouble] == [None, None, ""]


def test_nothing_is_followed_where_nobody_asks(file: Path) -> None:
    followed = ChangedFile(None, load(file))
    file.write_text(TEXT.replace("[orders]", "[users]"))
    assert [followed.look(), followed.look(), followed.trouble] == [None, None, ""]
