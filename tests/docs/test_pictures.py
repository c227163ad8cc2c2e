"""The pictures of README and docs: made from real output, shown, and without a word of a host."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("plan", "run", "verify")
_SPACE = "http://www.w3.org/2000/svg"
"""The name of the language, which is no address."""


def text_of(name: str) -> str:
    return (ROOT / "docs" / "pictures" / f"{name}.svg").read_text()


def words(name: str) -> str:
    """Return what a picture says."""
    parts = ET.fromstring(text_of(name)).iter(f"{{{_SPACE}}}text")  # noqa: S314  # it is ours
    return " ".join("".join(part.itertext()) for part in parts).replace("\xa0", " ")


@pytest.fixture(scope="module")
def draw() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plan", ["towpath plan link.yaml", "topics: 5 to create", "0 problems"]),
        ("run", ["towpath run link.yaml", "copying", "records/s", "behind", "identical"]),
        ("verify", ["towpath verify link.yaml", "19 equal of 19 partitions"]),
    ],
)
def test_a_picture_shows_what_the_command_says(name: str, said: list[str]) -> None:
    shown = words(name)
    assert [each for each in said if each not in shown] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_names_no_host_font_path_or_odd_port(name: str) -> None:
    text = text_of(name).replace(_SPACE, "")
    assert not re.search(r"://|url\((?!#)|@font-face|@import|<script|<image|href", text)
    ports = re.findall(r"(?:127\.0\.0\.1|localhost):(\d+)", words(name))
    assert set(ports) <= {"9092", "9093"}
    assert not re.search(r"/(?:tmp|root|home|work|var)/", words(name))


def test_the_first_page_shows_all_pictures_and_the_readme_one() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    assert [n for n in NAMES if f"](pictures/{n}.svg)" not in index] == []
    assert "](docs/pictures/run.svg)" in (ROOT / "README.md").read_text()


def test_the_command_is_played_in_a_terminal(draw: ModuleType) -> None:
    code = "import sys; print('\\x1b[32mgreen\\x1b[0m', sys.stdout.isatty())"
    said = draw.play([sys.executable, "-c", code])
    made = draw.draw("towpath plan", said, "plan")
    shown = "".join(ET.fromstring(made).itertext()).replace("\xa0", " ")  # noqa: S314
    assert "$ towpath plan" in re.sub(r"\s+", " ", shown)
    assert "green" in shown
    assert "True" in shown
    with pytest.raises(SystemExit, match=r"ended with 3:\n"):
        draw.play([sys.executable, "-c", "import sys; sys.exit(3)"])


def test_a_frame_in_the_middle_is_drawn(draw: ModuleType) -> None:
    clear = "\r\x1b[2K\x1b[1A\x1b[2K"
    frames = [f"{n} copied; {n} records/s\n12 behind" for n in ("0", "10", "1,200", "30", "0")]
    said = clear.join(["starting", *frames, "caught up"])
    assert draw.midway(said) == frames[2]
    with pytest.raises(SystemExit, match="never showed a rate"):
        draw.midway(clear.join(["starting", frames[0], "caught up"]))


def test_a_bar_that_was_cleared_is_not_drawn(draw: ModuleType) -> None:
    said = "comparing 1\r\x1b[2Kcomparing 2\x1b[?25h\r\x1b[1A\x1b[2K19 equal"
    assert draw.last(said) == "19 equal"
