"""A link that is created, shown and promoted over HTTP."""

from __future__ import annotations

import json

import httpx
import psutil
import pytest

from tests.support.clients.gateways import served
from tests.support.json_outputs import require_fits
from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.links import Link
from tests.support.program import Program
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark]
TOKEN = "a-token-of-the-test"  # noqa: S105, it opens nothing but this


@pytest.mark.spark(long=True)
def test_a_link_is_created_shown_and_promoted_over_http(gateway_link: Link) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.a")
    (port,) = ports.reserve(1)
    listen = f"127.0.0.1:{port}"
    arguments = (
        "http",
        str(link.file),
        "--token",
        "env:HTTP_TOKEN",
        "--listen",
        listen,
        "-o",
        "json",
    )
    service = Program(link.folder, *arguments, env={"HTTP_TOKEN": TOKEN}, name="http")
    link.programs.append(service)
    wait_until(lambda: "listening on" in service.said, lambda: f"it listens: {service.said}", 60)
    of = f"/links/{link.name}"
    with httpx.Client(
        base_url=f"http://{listen}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=120
    ) as client:
        unknown = client.get(of)
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "LINK_UNKNOWN")
        bare = client.post(f"{of}/promote")
        assert bare.status_code == 422
        assert "the body is missing" in bare.json()["detail"]
        assert client.put(of).json()["new"]
        assert not client.put(of).json()["new"]
        nobody = client.post(f"{of}/promote", json={"topics": [topic]})
        assert (nobody.status_code, nobody.json()["exit_code"]) == (409, 3)
        assert nobody.json()["output"]["reasons"][0]["code"] == "PROMOTE_NO_GATEWAY"

        run = link.run_inside()
        served(link)
        produce(link.source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(100)])
        link.wait_for(run, topic)
        asked = client.post(f"{of}/promote", json={"topics": [topic]}, params={"wait": 0})
        assert (asked.status_code, asked.json()["state"]) == (202, "running")
        found = client.get(asked.headers["location"], params={"wait": 100}).json()
        assert (found["exit_code"], found["output"]["state"]) == (0, "promoted"), found
        require_fits(("promote", "-o", "json"), json.dumps(found["output"]))
        assert any("decided" in each for each in found["said"]), found["said"]
        shown = client.get(of)
        assert shown.json()["topics"][0]["promoted"], shown.text
        assert [each["id"] for each in client.get("/commands").json()][-2:-1] == [found["id"]]
        paths = client.get("/openapi.json").json()["paths"]
        assert {"/links/{link}/promote", "/links/{link}/revert", "/commands/{name}"} <= {*paths}
        children = psutil.Process(service.pid).children(recursive=True)
    service.stop()
    assert service.json["commands"] == 6
    assert TOKEN not in service.said
    assert not [each for each in children if each.is_running()]
