"""Clusters that are started when a test first asks for them and shared until nobody needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.lifetimes import Lifetimes
from towpath.dev.broker import LocalCluster
from towpath.dev.certificates import Authority, Certificate
from towpath.dev.distribution import NEWEST
from towpath.dev.settings import Security
from towpath.model.secret import Secret


@dataclass
class Clusters:
    """The clusters of one test session, by name."""

    home: Path
    lifetimes: Lifetimes
    _started: dict[str, LocalCluster] = field(default_factory=dict)

    def get(
        self, name: str, version: str = NEWEST, brokers: int = 1, **options: Any
    ) -> LocalCluster:
        """Return the cluster of this name; start it when it is asked for the first time.

        Args:
            name: Its name; another version of the same name is another cluster.
            version: Kafka's version.
            brokers: How many.
            options: Further arguments of `LocalCluster`.
        """
        key = f"{name}-{version}"
        self.lifetimes.asked_for(key)
        if key not in self._started:
            cluster = LocalCluster(version, brokers, home=self.home / key, **options)
            self._started[key] = cluster.start()
        return self._started[key]

    def stop(self, *, unneeded: bool = False) -> None:
        """Kill all of them, or those that no test to come needs; nor does anybody their data."""
        for key in list(self._started):
            if not unneeded or self.lifetimes.is_over(key):
                self._started.pop(key).stop(hard=True)


USERS = {"admin": Secret("admin-pw"), "mirror": Secret("mirror-pw"), "nobody": Secret("nobody-pw")}
"""Of a secured cluster: `admin` may do everything, the others what an ACL allows."""


@dataclass(frozen=True)
class Vault:
    """Certificates: a good one for brokers and clients, an expired one, and one of strangers."""

    authority: Authority
    broker: Certificate
    client: Certificate
    expired: Certificate
    stranger: Certificate

    @classmethod
    def make(cls, folder: Path) -> Vault:
        """Make all of them in a folder."""
        authority = Authority(folder)
        return cls(
            authority,
            authority.issue("broker"),
            authority.issue("client"),
            authority.issue("expired", days=-1),
            Authority(folder / "elsewhere", "other-ca").issue("stranger"),
        )

    def security(self) -> Security:
        """Return TLS, SASL and ACLs as the secured clusters of the tests have them."""
        return Security(
            broker=self.broker,
            authority=self.authority.certificate,
            client_certificate="requested",
            users=USERS,
            super_users=("User:admin",),
            authorize=True,
        )
