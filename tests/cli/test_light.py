"""What a command loads before it does anything: importing is most of the time of a start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LOADED = """
import sys
from towpath.cli.main import main
main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""


def loaded(*arguments: str, folder: Path) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    program = [sys.executable, "-c", LOADED, *arguments]
    ran = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    return {*ran.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "GAP"),
        ("init", "new.yaml"),
        ("dev", "down", "--home", "home"),
        ("kraft", "--help"),
        ("schemas", "--help"),
    ],
)
def test_a_command_without_a_file_makes_no_models_of_files_and_no_pictures(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    modules = loaded(*arguments, folder=tmp_path)
    unwanted = {"towpath.settings.link", "towpath.cluster", "kafka", "numpy", "rich.console"}
    assert "towpath.cli.show.output" in modules
    assert not unwanted & modules


def test_lint_draws_no_picture_and_reaches_no_cluster(tmp_path: Path) -> None:
    Path(tmp_path, "link.yaml").write_text(
        "source: {bootstrap: 'a:1'}\ntarget: {bootstrap: 'b:1'}\nlink: a\n"
        "topics: {include: [a]}\nrecords: {start: earliest}\n"
    )
    modules = loaded("lint", "link.yaml", folder=tmp_path)
    assert "towpath.settings.link" in modules
    assert not {"towpath.cluster", "kafka", "numpy", "rich.console"} & modules


def test_every_name_of_the_settings_is_at_home_where_they_say() -> None:
    import towpath.settings as front

    assert sorted(front._MODULES) == sorted(front.__all__)
    for name in front.__all__:
        assert getattr(front, name) is not None
    with pytest.raises(AttributeError, match="unknown"):
        front.unknown  # noqa: B018
    assert "unknown" not in dir(front)
