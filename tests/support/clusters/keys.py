"""Certificates, authorities and passwords that can be replaced while a link is at work."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

from tests.support.clusters.certificates import Authority, Certificate
from towpath.dev.broker import LocalCluster
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig

OLD, NEW = Secret("m4rked-old"), Secret("m4rked-new")


class Keys:
    """Everything that is replaced: what the broker has, and what the link finds."""

    def __init__(self, folder: Path) -> None:
        self.ours = folder / "link"
        self.ours.mkdir(parents=True)
        made = [Authority(folder / name) for name in ("old", "new")]
        self.authorities = [each.certificate for each in made]
        self.brokers = [each.issue("broker") for each in made]
        self.clients = [each.issue("client") for each in made]
        self.served = Authority(folder / "served").issue("broker")
        self.trusted = folder / "served" / "ca.crt"
        self.serve(0)
        for name in "ca", "cert", "key", "password":
            self.give(name, 0)

    def serve(self, which: int) -> None:
        """Give the broker its certificate, and the authority of its clients."""
        shutil.copy(self.brokers[which].both, self.served.both)
        shutil.copy(self.authorities[which], self.trusted)

    def give(self, name: str, which: int) -> None:
        """Put a file to where the link finds it."""
        client: Certificate = self.clients[which]
        found = {
            "ca": self.authorities[which].read_text(),
            "cert": client.certificate.read_text(),
            "key": client.key.read_text(),
            "password": (OLD, NEW)[which].reveal(),
        }
        (self.ours / name).write_text(found[name])

    def config(self, cluster: LocalCluster) -> ClusterConfig:
        """Return how the link comes in, as a task on the same machine gets it."""
        configs: dict[str, Any] = {
            "bootstrap": cluster.addresses,
            "tls": {name: str(self.ours / name) for name in ("ca", "cert", "key")},
            "sasl": {
                "mechanism": "SCRAM-SHA-512", "username": "mirror",
                "password": f"file:{self.ours}/password",
            },
            "request_timeout": "5s",
        }  # fmt: skip
        made: ClusterConfig = pickle.loads(pickle.dumps(ClusterConfig.model_validate(configs)))  # noqa: S301
        return made
