"""Objects of many parts: how large these are, and when such an object is complete."""

from __future__ import annotations

import random

import pytest

from tests.support.objects.buckets import Buckets, StoreFront
from towpath.settings import Size
from towpath.store import Store, writer
from towpath.store.writer import part_bytes

MIB = 1 << 20


def test_parts_grow_where_there_would_be_too_many(
    buckets: Buckets, front: StoreFront, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_PARTS", 4)
    data = random.Random(1).randbytes(23 * MIB)
    config = front.before(buckets.new(part_size=Size.parse("5MiB")))
    with Store(config) as store:
        with store.writer("large", expected=len(data)) as out:
            for at in range(0, len(data), 777_777):
                out.write(data[at : at + 777_777])
        assert store.get("large") == data
    parts = [seen for method, path, seen in front.seen if method == "PUT" and "partNumber" in path]
    size = part_bytes(5 * MIB, len(data))
    # They go side by side, so the last one may be noted before others.
    sizes = sorted(int(seen["content-length"]) for seen in parts)
    assert sizes == [len(data) - 2 * size, size, size]


class Hasty(StoreFront):
    """A proxy that says of an object that it is complete."""

    def refusal(self, status: int, code: str) -> bytes:
        """Return the body of an answer."""
        done = b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
        return done if code == "done" else super().refusal(status, code)


def test_an_object_that_is_said_to_be_complete_is_there(buckets: Buckets) -> None:
    front = Hasty(buckets.port)
    answers = iter([(500, "InternalError"), (201, "done"), (201, "done")])
    front.change = lambda method, path, _headers: (
        next(answers, None) if method == "POST" and "uploadId" in path else None
    )
    try:
        with Store(front.before(buckets.new(part_size=Size.parse("5MiB")))) as store:
            with store.writer("large") as out:
                out.write(bytes(6 * MIB))
            assert store.head("large").size == 6 * MIB
    finally:
        front.stop()
    assert next(answers, None) is None
