"""What stores of each kind answer, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.objects.buckets import StoreFront
from towpath.model.errors import StoreError, StoreRefusedError
from towpath.settings import StoreConfig
from towpath.store import Store

NO_TIME = {"timeout": "1s", "request_timeout": "1s"}
"""Fields of a store that is not asked again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a store to any request, and the error for people.

    Attributes:
        status: Its HTTP status.
        code: Its code, as the kind of store names it.
        error: The error.
        told: A part of its sentence.
    """

    status: int
    code: str
    error: type[StoreError]
    told: str

    def __str__(self) -> str:
        return f"{self.status}-{self.code}"

    def is_told(self, front: StoreFront, config: StoreConfig) -> None:
        """Write an object to a store that answers this, and look at the error.

        Args:
            front: Stands before the store.
            config: The store itself, with `NO_TIME`.
        """
        front.change = lambda _method, _path, _headers: (self.status, self.code)
        with Store(front.before(config)) as store, pytest.raises(self.error) as caught:
            store.put_new("a", b"x")
        assert type(caught.value) is self.error
        assert self.told in str(caught.value)
        assert f"{config.url}/a: write: " in str(caught.value)


def passes(front: StoreFront, config: StoreConfig, *answers: tuple[int, str]) -> None:
    """Write and read an object of a store that gives these answers first, which may pass.

    Args:
        front: Stands before the store.
        config: The store itself.
        answers: Status and code of each.
    """
    left = iter(answers)
    front.change = lambda _method, _path, _headers: next(left, None)
    with Store(front.before(config)) as store:
        store.put_new("a", b"x")
        assert store.get("a") == b"x"
    wanted = ["PUT"] * (len(answers) + 1) + ["GET"]
    assert [method for method, _, _ in front.seen] == wanted


def has_no_bucket(config: StoreConfig, bucket: str = "bucket") -> None:
    """Ask a store that is not there; the error says so, whatever is asked."""
    with Store(config) as store:
        for call in (
            lambda: store.get("a"),
            lambda: list(store.list()),
            lambda: store.put("a", b""),
        ):
            with pytest.raises(StoreRefusedError) as caught:
                call()
            assert f"create the {bucket}, or correct `store.url`" in str(caught.value)
