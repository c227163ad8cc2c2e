"""What no file of the repository may hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]

# Split, so that this file does not find itself.
HOSTS = ("pypi" + r"\.org", "hosted" + r"\.org", "maven" + r"\.org", "golang" + r"\.org")
FOLDERS = ("/ro" + "ot/", "/wo" + "rk/", "/ho" + "me/(?!someone)", "/Us" + "ers/")


def tracked(*patterns: str) -> list[Path]:
    """Return the files of the repository, also those that wait for their first commit."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def lines_with(patterns: tuple[str, ...], paths: list[Path]) -> list[str]:
    pattern = re.compile("|".join(patterns).encode())
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.decode(errors='replace').strip()[:100]}"
        for path in paths
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_registry() -> None:
    assert lines_with(HOSTS, tracked()) == []


def test_the_locks_name_no_host_at_all() -> None:
    locks = tracked("requirements")
    assert len(locks) >= 3
    assert lines_with(("://",), locks) == []


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    assert lines_with(FOLDERS, tracked()) == []


@pytest.mark.parametrize("name", ["bootstrap", "build", "dev", "run", "wheel"])
def test_every_locked_requirement_has_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    requirements = [line for line in text.splitlines() if "==" in line]
    assert requirements
    assert [line for line in requirements if "--hash=sha256:" not in line] == []


def test_every_test_folder_is_a_package() -> None:
    """Else two tests of one name in two folders could not be told apart."""
    folders = {path.parent for path in tracked("tests") if path.suffix == ".py"}
    missing = [f for f in folders if not (f / "__init__.py").exists()]
    assert [str(folder.relative_to(ROOT)) for folder in missing] == []


def test_no_test_imports_anothers_helpers() -> None:
    """What two tests need lives in `tests/support/`: a test can be moved or deleted alone."""
    imports = re.compile(rb"^\s*(from|import) tests\.(?!support\b)|^\s*from \.", re.MULTILINE)
    packages = re.compile(rb"^\s*from tests import (?!support\b)", re.MULTILINE)
    wrong = [
        str(path.relative_to(ROOT))
        for path in tracked("tests/*.py")
        if imports.search(text := path.read_bytes()) or packages.search(text)
    ]
    assert wrong == []


def test_the_table_of_promises_names_tests_that_exist() -> None:
    text = (ROOT / "tests" / "README.md").read_text()
    named = set(re.findall(r"`([\w/]+/(?:test_\w+\.py)?)`", text)) - {"support/", "tests/"}
    assert len(named) > 60
    assert [name for name in sorted(named) if not (ROOT / "tests" / name).exists()] == []


def test_the_table_of_faults_names_tests_that_exist() -> None:
    text = (ROOT / "tests" / "FAULTS.md").read_text()
    named = re.findall(r"`([\w/]+/test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 30
    files = {path: (ROOT / "tests" / path).read_text() for path, _ in named}
    assert [test for path, test in named if f"def {test}(" not in files[path]] == []
    rows = [line for line in text.splitlines() if line.startswith("| ") and "our test" not in line]
    assert [row for row in rows if "::test_" not in row] == []


def test_the_table_of_promises_names_all_tests_with_brokers() -> None:
    text = (ROOT / "tests" / "README.md").read_text()
    named = set(re.findall(r"`([\w/]+/(?:test_\w+\.py)?)`", text))
    paths = [path for path in tracked("tests/*/test_*.py") if b"mark.broker" in path.read_bytes()]
    files = [path.relative_to(ROOT / "tests").as_posix() for path in paths]
    assert len(files) > 50
    above = {name: {f"{each}/" for each in PurePosixPath(name).parents} for name in files}
    assert [name for name in files if not {name, *above[name]} & named] == []


def test_the_folders_of_tests_are_those_of_the_packages() -> None:
    across = {
        "tests",
        "tests/bench",
        "tests/chaos",
        "tests/deploy",
        "tests/docs",
        "tests/formats",
        "tests/security",
        "tests/spark",
    }
    folders = {path.parent.relative_to(ROOT) for path in tracked("tests/*/test_*.py")}
    packages = {each for each in folders if str(each) not in across}
    assert len(packages) > 15
    wrong = [
        each
        for each in packages
        if not (ROOT / "src" / "towpath" / each.relative_to("tests")).is_dir()
    ]
    assert wrong == []


def test_no_two_public_classes_have_one_name() -> None:
    """A name says what a thing is wherever it is read, without the path of its module."""
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in re.findall(r"^class ([^\W_]\w*)", path.read_text(), re.MULTILINE):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(places) > 1000
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+\.py|(?:[\w-]+/)+)`")


def test_files_that_pages_name_exist() -> None:
    """Of a path the end is enough, as in tables that go through one folder."""
    pages = [path for path in tracked("*.md") if path.name != "CHANGELOG.md"]
    ends = [f"/{path.relative_to(ROOT)}" for path in tracked()]
    wrong = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in pages
        for name in NAMED.findall(page.read_text())
        if not any(
            f"/{name}" in end if name.endswith("/") else end.endswith(f"/{name}") for end in ends
        )
    ]
    assert wrong == []
