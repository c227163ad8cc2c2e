"""A transactional id that has moved there and back moves there once more, by another link."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.gateways import ends_of, promoted, reverted, served, turned_round
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_transactions import (
    Transactions,
    require_processed,
    require_whole_transactions,
)
from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.program import Program
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.mark.parametrize("killed", [False, True])
def test_transactional_ids_move_again_by_the_next_link(
    gateway_link: Link, here: Here, killed: bool
) -> None:
    """Both clusters know the ids from before, under producer ids and sequences of their own."""
    link = gateway_link
    link.name += "-ids"  # the next link after moves-1 would be moves-2, as the next test's is
    inputs, output = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("inputs", "output")
    )
    run, gateway = link.run_inside(), served(link)
    traffic = Transactions(link.gateway.split("'")[1])
    names = writer, app = f"{link.name}-writer", f"{link.name}-app"
    often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
    try:
        traffic.write(writer, inputs)
        traffic.process(app, f"{link.name}-group", inputs, output, **often)
        traffic.go_on(*names)
        wait_for_end(link.target, output, 5, run)
        promoted(here, link)
        traffic.go_on(*names)
        run.stop()
        begun = end(link.source, output)
        back = turned_round(link)
        wait_for_end(link.source, output, begun, back)
        reverted(here, link)
        back.stop()
        traffic.go_on(*names)

        file = again(link)
        begun = end(link.target, output)
        run = RunInside(file)
        link.programs.append(run)
        gateway.kill9() if killed else gateway.stop()
        gateway = listening(link, file)
        traffic.go_on(*names)
        wait_for_end(link.target, output, begun + 5, run)
        moved_again(here, file)
        ends = ends_of(link.source, inputs), ends_of(link.source, output)
        traffic.go_on(*names)
        if killed:
            gateway.kill9()
            listening(link, file)
            traffic.go_on(*names)
        traffic.end()
    finally:
        traffic.close()
    assert traffic.failures == []
    assert ends == (ends_of(link.source, inputs), ends_of(link.source, output))
    require_whole_transactions(traffic, link.target.bootstrap, inputs)
    require_processed(link.target.bootstrap, inputs, output)


def again(link: Link) -> Path:
    """Turn the link back round once more; return the file of the link that copies there again."""
    file = link.file.with_name(f"{link.name}-2.yaml")
    first = link.file.with_name(f"{link.name}-back.yaml")
    asked = FailbackRequest(file=first, to=file, wins=None, agreed=lambda _: True)
    assert failback(load(first), asked).done
    file.write_text(f"{file.read_text()}\ngateway: {link.gateway}\n")
    return file


def listening(link: Link, file: Path) -> Program:
    program = Program(link.folder, "gateway", str(file), name=f"again-{len(link.programs)}")
    link.programs.append(program)
    wait_until(lambda: "listening on" in program.said, lambda: f"it listens: {program.said}", 60)
    return program


def moved_again(here: Here, file: Path) -> None:
    done = here("promote", str(file), "-o", "json")
    for _ in range(3):
        if done.json["state"] == "undone":
            done = here("promote", str(file), "-o", "json")
    assert done.json["state"] == "promoted", done.said
