"""What else lies in an ensemble that several share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from tests.support.kraft import ensembles
from tests.support.kraft.ensembles import Ensemble
from tests.support.kraft.znodes import small
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    with ensembles.ensemble(tmp_path_factory.mktemp("shared")) as made:
        chroots = "", "/kafka/a", "/kafka/b"
        clusters = {f"{each}{path}": data for each in chroots for path, data in small().items()}
        ensembles.fill(made.connect, {**clusters, "/hbase/master": b"x", "/closed/a": b"x"})
        owner = KazooClient(made.connect)
        owner.start(20)
        owner.add_auth("digest", "owner:word")
        owner.set_acls("/closed", [make_digest_acl("owner", "word", all=True)])
        owner.stop()
        owner.close()
        yield made


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("", ("/closed", "/hbase", "/kafka")),
        (
            "/kafka/b",
            (
                "/brokers",
                "/cluster",
                "/closed",
                "/config",
                "/hbase",
                "/kafka/a (a cluster of Kafka",
            ),
        ),
    ],
)
def test_clusters_and_programs_that_share_it_are_named(
    shared: Ensemble, path: str, wanted: tuple[str, ...]
) -> None:
    with ensembles.zookeeper(shared.config(path)) as zookeeper:
        told = zookeeper.neighbours(Deadline.after(20))
    assert all(any(each.startswith(one) for each in told) for one in wanted), told
    assert not any(each.startswith(("/zookeeper", "/kafka/b")) for each in told), told
    if not path:
        assert not any("brokers" in each for each in told), told
