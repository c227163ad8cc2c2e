"""Credentials on a Spark cluster of its own: they arrive, and nobody else sees them."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.clusters.fleet import USERS
from tests.support.clusters.secured import SecuredLink, load, permit
from tests.support.copying.standalone import Standalone
from tests.support.kafka import consume
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    made = Standalone(tmp_path)
    yield made
    made.stop()


def page(address: str) -> bytes:
    with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310
        return bytes(answer.read())
    return b""


def test_credentials_reach_a_cluster_and_nobody_else(
    secured: SecuredLink, standalone: Standalone, tmp_path: Path
) -> None:
    topic = load(secured)
    permit(secured)
    [port] = ports.reserve(1)
    events = tmp_path / "events"
    events.mkdir()
    with (tmp_path / "spark-defaults.conf").open("a") as defaults:
        defaults.write(
            f"spark.ui.enabled true\nspark.ui.port {port}\nspark.log.level DEBUG\n"
            f"spark.eventLog.enabled true\nspark.eventLog.dir file://{events}\n"
            "spark.eventLog.compress false\n"
        )
    run = secured.start(
        "run", "--until-caught-up", "--master", standalone.master,
        env={"SPARK_CONF_DIR": str(tmp_path)},
    )  # fmt: skip
    ours = f"http://127.0.0.1:{port}"
    names = "/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/StreamingQuery/"
    seen: dict[str, bytes] = {}
    while run.running:
        for address in (*standalone.pages, *(ours + name for name in names)):
            seen[address] = page(address) or seen.get(address, b"")
        time.sleep(0.5)
    assert run.wait(1) == 0, run.said
    sides = [consume(c.back_door, topic, (0, 1)) for c in (secured.source, secured.target)]
    assert sides[0] == sides[1]
    assert len(sides[0]) == 200
    ledger = consume(secured.target.back_door, "__towpath_ledger", (0, 1))
    seen["ledger"] = b"".join((r.key or b"") + (r.value or b"") for r in ledger)
    files = [each for each in tmp_path.rglob("*") if each.is_file() and each.name != "password"]
    seen |= {str(each): each.read_bytes() for each in files}
    assert [name for name, text in seen.items() if not text and name.startswith("http")] == []
    assert any("work/app-" in name and name.endswith("stderr") for name in seen)
    secret = USERS["mirror"].reveal().encode()
    assert [name for name, text in seen.items() if secret in text] == []
