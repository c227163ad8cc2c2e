"""What `pip install towpath` brings does its work, and names the extra of what it lacks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.bare_base import EXTRAS, towpath, without_extras
from tests.support.here import Here
from tests.support.kafka import Record, commit, create_topic, produce
from tests.support.registries.registry import LocalRegistry, record
from towpath.cli.main import COMMANDS
from towpath.dev.broker import LocalCluster
from towpath.model import extras

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OF_SPARK = {
    "run", "transform", "cutover", "failback", "verify", "repair", "quarantine", "pack", "archive",
    "restore",
}  # fmt: skip
OF_OTHERS = {"import"}
"""Its files of Kafka Replicator's topics need the extra, and those of MirrorMaker 2 do not."""
ALL = """
import sys
from towpath.cli.main import main
for command in sys.argv[1:]:
    print(main([command, "--help"]), command, file=sys.stderr)
"""


@pytest.fixture
def base(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "base"
    folder.mkdir()
    return without_extras(folder)


def helped(env: dict[str, str], commands: set[str]) -> list[str]:
    """Return what all commands say when they are asked for help, in one process."""
    asked = [sys.executable, "-c", ALL, *sorted(commands)]
    done = subprocess.run(asked, env=env, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_commands_without_spark_begin(base: dict[str, str]) -> None:
    commands = set(COMMANDS) - OF_SPARK - OF_OTHERS
    assert helped(base, commands) == [f"0 {each}" for each in sorted(commands)]


def test_commands_of_spark_name_their_extra(base: dict[str, str]) -> None:
    wanted = []
    for each in sorted(OF_SPARK):
        line = "which is not installed: pip install 'towpath[spark]'"
        wanted += [f"towpath {each} needs pyspark, {line}", "see `towpath explain EXTRA_MISSING`"]
        wanted += [f"2 {each}"]
    assert helped(base, OF_SPARK) == wanted


def test_a_missing_library_of_a_part_of_a_command_is_named_too(base: dict[str, str]) -> None:
    [done] = towpath(base, ("import", "replicator", "--help", "-o", "json"))
    said = json.loads(done.stdout)
    assert (done.returncode, said["error"]["code"]) == (2, "EXTRA_MISSING")


@pytest.mark.parametrize("kind", ["link", "archive", "kraft"])
def test_files_of_all_kinds_are_made_and_checked(
    base: dict[str, str], tmp_path: Path, kind: str
) -> None:
    file = tmp_path / f"{kind}.yaml"
    more = [("kraft", "check", file)] if kind == "kraft" else []
    made, checked, *answers = towpath(base, ("init", file, "--kind", kind), ("lint", file), *more)
    assert (made.returncode, checked.returncode) == (0, 0), checked.stderr
    for asked in answers:
        line = "needs kazoo, which is not installed: pip install 'towpath[zookeeper]'"
        assert (asked.returncode, asked.stderr.splitlines()[0]) == (2, f"towpath kraft {line}")


def test_explain_and_dev_answer(base: dict[str, str], tmp_path: Path) -> None:
    dev_down = ("dev", "down", "--home", tmp_path / "dev")
    explained, down = towpath(base, ("explain", "EXTRA_MISSING"), dev_down)
    assert "towpath[spark" in explained.stdout
    assert down.returncode == 0, down.stderr


@pytest.mark.parametrize(
    ("url", "library", "extra"),
    [
        ("s3://b/p", "botocore", "s3"),
        ("gs://b", "google-auth", "gcs"),
        ("abfs://c@a", "urllib3", "azure"),
    ],
)
def test_a_store_names_its_extra(tmp_path: Path, url: str, library: str, extra: str) -> None:
    stores = {"azure", "botocore", "google.auth", "urllib3"}
    env = without_extras(tmp_path, set(EXTRAS) - stores)
    file = tmp_path / "archive.yaml"
    file.write_text(
        "kind: archive\narchive: a\nregion: here\nsource: {bootstrap: 'localhost:1'}\n"
        f"store: {{url: '{url}'}}\ntopics: {{include: [orders]}}\n"
    )
    [done] = towpath(env, ("archive", "status", file, "--no-source"))
    assert done.returncode == 2, done.stderr
    line = rf"\S+ needs {library}, which is not installed: pip install 'towpath\[{extra}\]'"
    assert re.fullmatch(line, done.stderr.splitlines()[0])


def test_the_base_is_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {
        extra: {re.split(r"[<>=]", each)[0] for each in wanted}
        for extra, wanted in project["optional-dependencies"].items()
    }
    base = {re.split(r"[<>=]", each)[0] for each in project["dependencies"]}
    assert not base & set(EXTRAS)
    assert {"numpy", "pydantic", "kafka-python"} <= base
    for library, extra in extras._EXTRAS.items():
        assert library in names[extra] or library == "llvmlite"


@pytest.mark.broker
@pytest.mark.spark
def test_a_link_is_planned_applied_and_watched_without_spark(
    base: dict[str, str],
    here: Here,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    new_registry: Callable[..., LocalRegistry],
    tmp_path: Path,
) -> None:
    """Only the run in the middle has Spark."""
    name, topic = new_name("base"), new_name("base-orders")
    create_topic(source.bootstrap, topic, 2)
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % each) for each in range(10)])
    commit(source.bootstrap, f"{topic}-mail", topic, 0, 4)
    ours, theirs = new_registry(), new_registry()
    ours.register(f"{topic}-value", record("Order"))
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {name}\ntopics: {{include: ['{topic}']}}\nrecords: {{start: earliest}}\n"
        f"groups: {{include: ['{topic}-.*']}}\n"
        f"schemas: {{source: {{url: '{ours.url}'}}, target: {{url: '{theirs.url}'}}}}\n"
    )

    def do(*wanted: tuple[int, tuple[object, ...]]) -> list[str]:
        done = towpath(base, *(words for _, words in wanted))
        for (code, words), each in zip(wanted, done, strict=True):
            assert each.returncode == code, (words, each.stdout, each.stderr)
        return [each.stdout for each in done]

    saved = tmp_path / "plan.json"
    do(
        (0, ("plan", file, "--save", saved)),
        (3, ("diff", file)),
        (0, ("apply", saved, "--yes")),
        (0, ("diff", file)),
    )
    ran = here.run(str(file), "--until-caught-up")
    assert ran.code == 0, ran.said
    [status, *_] = do(
        (0, ("status", file)),
        (0, ("history", file)),
        (0, ("groups", "ls", file)),
        (0, ("groups", "sync", file)),
        (0, ("groups", "translate", file, f"{topic}-mail")),
        (0, ("groups", "status", file)),
        (0, ("groups", "diff", file)),
        (0, ("schemas", "diff", file)),
        (0, ("schemas", "verify", file)),
        (0, ("pause", file, "--topics", topic)),
        (0, ("resume", file, "--topics", topic)),
        (0, ("rate", file)),
    )
    assert "caught up" in status
