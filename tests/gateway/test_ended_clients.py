"""A broker that is away does not fill the log with a line for each connection that it ends."""

from __future__ import annotations

from towpath.gateway.ended_clients import PAUSE, EndedClients


class Told:
    """What is logged, by a clock that stands until it is set."""

    def __init__(self) -> None:
        self.now, self.lines = 0.0, list[tuple[str, int]]()
        self.ended = EndedClients(lambda why, count: self.lines.append((why, count)), self.clock)

    def clock(self) -> float:
        return self.now

    def after(self, seconds: float) -> list[tuple[str, int]]:
        """Return what is told from now on until so much later."""
        self.lines.clear()
        self.now += seconds
        self.ended.sweep()
        return self.lines


def test_few_have_a_line_each() -> None:
    told = Told()
    for why in ("away", "no frame", "away"):
        told.ended.ended(why)
    assert told.lines == [("away", 1), ("no frame", 1), ("away", 1)]
    assert told.after(PAUSE) == []


def test_of_many_most_are_counted_and_none_is_left_out() -> None:
    told = Told()
    for _ in range(1000):
        told.ended.ended("away")
    assert told.lines == [("away", 1)] * 10
    told.ended.ended("no frame")
    assert told.lines[-1] == ("no frame", 1), "what is rare has its line beside them"
    assert told.after(PAUSE / 2) == []
    assert told.after(PAUSE / 2) == [("away", 990)]
    told.ended.ended("away")
    assert told.after(PAUSE) == [("away", 1)], "it goes on, and is not told one by one again"
    assert told.after(PAUSE) == []
    told.lines.clear()
    told.ended.ended("away")
    assert told.lines == [("away", 1)], "it had stopped"
    for _ in range(20):
        told.ended.ended("away")
    told.lines.clear()
    told.ended.close()
    assert told.lines == [("away", 11)], "what is left at the end is told, too"
