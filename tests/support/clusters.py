"""Clusters that start when a test first asks for one, once for all processes of a session."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.support.brokers import SharedCluster
from towpath.dev.broker import LocalCluster
from towpath.dev.certificates import Authority, Certificate
from towpath.dev.distribution import NEWEST, alone
from towpath.dev.settings import Security
from towpath.model.secret import Secret

T = TypeVar("T")


@dataclass
class Clusters:
    """The clusters of one test session, by name, and what else its processes share.

    What one process started the others find in `folder`. Nobody stops a cluster: the guard of the
    session kills what is left at its end.
    """

    folder: Path
    _known: dict[str, Any] = field(default_factory=dict)

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
        home = self.folder / key
        return self.once(key, lambda: SharedCluster(version, brokers, home=home, **options).start())

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` makes in the first process that asks; the others get it pickled."""
        if name not in self._known:
            kept = self.folder / f"{name}.pickle"
            with alone(self.folder / f"{name}.lock"):
                if not kept.exists():
                    kept.write_bytes(pickle.dumps(make()))
            self._known[name] = pickle.loads(kept.read_bytes())  # noqa: S301 - ours
        made: T = self._known[name]
        return made


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
