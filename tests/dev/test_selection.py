"""Which tests a session plays, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.session.selection import Selection, arranged


@dataclass(frozen=True)
class Test:
    """A test as pytest hands it to the plugin."""

    __test__ = False
    nodeid: str
    marker: str = ""
    own: bool = False
    long: bool = False

    def get_closest_marker(self, name: str) -> Any:
        return (
            SimpleNamespace(kwargs={"own": self.own, "long": self.long})
            if self.marker == name
            else None
        )


@dataclass
class Session:
    """Stands for pytest's configuration, and for its hooks."""

    scenes: str
    left_out: list[Any] = field(default_factory=list)

    @property
    def hook(self) -> Session:
        return self

    def getoption(self, _name: str) -> str:
        return self.scenes

    def pytest_deselected(self, items: list[Any]) -> None:
        self.left_out += items


SCENES = [Test(f"scene-{number}", "chaos") for number in range(5)]
OTHERS = [Test("other-1"), Test("other-2", "soak")]


def selected(scenes: str, seed: int = 1, items: list[Test] | None = None) -> list[Any]:
    played: list[Any] = list(SCENES[:2] + OTHERS + SCENES[2:] if items is None else items)
    everything = set(played)
    session: Any = Session(scenes)
    Selection(seed).pytest_collection_modifyitems(session, played)
    assert {*played, *session.left_out} == everything
    return played


def test_one_scene_is_chosen_by_the_seed() -> None:
    [one] = [test for test in selected("one") if test not in OTHERS]
    assert [test for test in selected("one") if test in OTHERS] == OTHERS
    backwards = selected("one", items=[*OTHERS, *SCENES[::-1]])
    assert [test for test in backwards if test not in OTHERS] == [one]
    seen = {test for seed in range(50) for test in selected("one", seed) if test not in OTHERS}
    assert seen == {*SCENES}


def test_all_scenes_are_played_and_last_in_a_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    assert selected("all") == [*SCENES[:2], *OTHERS, *SCENES[2:]]
    monkeypatch.setenv("TOWPATH_SOAK_SECONDS", "1000")
    assert selected("all") == [*OTHERS, *SCENES]


def test_scenes_share_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_SOAK_SECONDS", "1000")
    selection, items = Selection(1), list[Any](SCENES[:3])
    session: Any = Session("all")
    selection.pytest_collection_modifyitems(session, items)
    assert [selection.seconds_of_a_scene() // 10 for _ in items] == [33, 49, 99]
    monkeypatch.delenv("TOWPATH_SOAK_SECONDS")
    assert selection.seconds_of_a_scene() == 0


@pytest.mark.parametrize(
    ("workers", "order"),
    [(1, "ABsCoDtl"), (2, "lstAoBCD"), (3, "lstoABCD"), (8, "lstoABCD")],
)
def test_what_takes_long_begins_at_once(workers: int, order: str) -> None:
    tests: list[Any] = [
        Test(name, "spark" if name in "sotl" else "broker", name == "o", name == "l")
        for name in "ABsCoDtl"
    ]
    assert "".join(test.nodeid for test in arranged(tests, workers)) == order
