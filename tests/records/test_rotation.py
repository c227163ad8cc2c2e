"""Certificates, authorities and passwords that are replaced while a slice copies."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster, set_passwords
from tests.support.clusters.keys import NEW, Keys
from tests.support.copying.copier import BackDoor, copier, endless, going
from tests.support.here import Here
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from towpath.cluster.connect import security
from towpath.dev.broker import LocalCluster
from towpath.records.copy import Copier
from towpath.runtime.clock import now_ms
from towpath.settings import troubles

pytestmark = pytest.mark.broker


@pytest.fixture
def rotating(lone: SharedCluster) -> SharedCluster:
    return lone.through("ROTATING")


def test_a_slice_outlives_a_rotation(
    tmp_path: Path, source: LocalCluster, rotating: SharedCluster, keys: Keys,
    new_name: Callable[[str], str],
) -> None:  # fmt: skip
    """The broker changes first; then the link's files, one by one, one of them half-written."""
    mirror = BackDoor(tmp_path, source, rotating, new_name("rotation"))
    mirror.create()
    [planned] = mirror.slices()
    target = keys.config(rotating)
    work = replace(endless(planned), target=target)
    count = 0

    def write() -> None:
        nonlocal count
        produce(source.back_door, mirror.topic, [Record(None, b"%d" % i) for i in range(50)])
        count += 50

    def copied(made: Copier) -> bool:
        [lane] = made.landing.lanes.values()
        assert not lane.progress.stopped, lane.progress.error
        return end_offsets(rotating.back_door, mirror.topic)[1] == count

    with copier(work, work.source, target) as made, going(made):
        write()
        wait_until(lambda: made.landing.lanes != {} and copied(made), "what was there is copied")
        set_passwords(rotating, {"mirror": NEW})
        keys.serve(1)
        rotating.restart(1)
        [lane] = made.landing.lanes.values()
        write()
        unknown = "signed by none of `tls.ca`"
        wait_until(lambda: unknown in lane.progress.error, "the broker is not trusted any more")
        said = [lane.progress.error]
        whole = (keys.ours / "ca").read_text()
        (keys.ours / "ca").write_text(whole[: len(whole) // 2])
        assert len(troubles()) == 1
        for name in "ca", "cert", "key":
            keys.give(name, 1)
        wait_until(lambda: "logging in" in lane.progress.error, "the password does not fit")
        said.append(lane.progress.error)
        keys.give("password", 1)
        wait_until(lambda: copied(made), "it goes on with what the files hold now", 60)
        wait_until(lambda: lane.progress.error == "", "nothing is in its way any more")
    assert troubles() == ()
    assert [each for each in said if "m4rked" in each] == []
    assert "SASL_AUTHENTICATION_FAILED (58)" in said[1]
    values = [record.value for record in consume(rotating.back_door, mirror.topic)]
    assert values == [b"%d" % i for i in range(50)] * (count // 50)


def token(subject: str) -> str:
    """Return a token as brokers take it that ask for no signature."""
    claims = {"sub": subject, "iat": now_ms() // 1000 - 60, "exp": now_ms() // 1000 + 600}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("sleep 60; echo m4rked", "token_command: sh did not end within 0.5 s"),
        ("echo m4rked-token; echo m4rked >&2; exit 3", "token_command sh ended with code 3"),
        ("echo m4rked-token", "target: logging in to "),
        ("echo $0", ""),
    ],
)
def test_a_login_by_token_that_fails_shows_no_secret(
    tmp_path: Path, source: LocalCluster, rotating: SharedCluster, keys: Keys, here: Here,
    monkeypatch: pytest.MonkeyPatch, command: str, told: str,
) -> None:  # fmt: skip
    """The arguments hold a secret as well, which the file takes from a variable."""
    monkeypatch.setattr(security, "_COMMAND_SECONDS", 0.5)
    monkeypatch.setenv("CLIENT_SECRET", "m4rked-by-a-variable")
    target = {
        "bootstrap": rotating.bootstrap,
        "tls": {name: str(keys.ours / name) for name in ("ca", "cert", "key")},
        "sasl": {
            "mechanism": "OAUTHBEARER",
            "token_command": ["sh", "-c", command, token("somebody"), "${CLIENT_SECRET}"],
        },
    }
    file = tmp_path / "link.yaml"
    topics = {"include": ["none-of-these"]}
    link = {"source": {"bootstrap": source.back_door}, "target": target, "link": "token"}
    file.write_text(json.dumps({**link, "topics": topics}))
    status = ["status", str(file)]
    for line in status, [*status, "--output", "json"], ["--debug", *status]:
        found = here(*line)
        assert (found.code == 4) == bool(told), found.said
        assert told in found.said
        assert "m4rked" not in found.said
