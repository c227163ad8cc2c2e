"""Large metadata answers are decoded once as long as brokers repeat them."""

from __future__ import annotations

from towpath.cluster.connect import metadata_cache
from towpath.cluster.connect.metadata_cache import RememberedMetadata
from towpath.cluster.metadata import Metadata
from towpath.model.nouns import ClusterId


class Decoding:
    """Decodes answers that are the name of a cluster, and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self.metadata = RememberedMetadata(self.decode)

    def decode(self, _request: object, data: bytes) -> Metadata:
        self.count += 1
        return Metadata(ClusterId(data[4:8].decode()), 1, {}, {})

    def __call__(self, correlation: int, name: str, *, large: bool = True) -> str:
        data = correlation.to_bytes(4) + name.encode()
        size = metadata_cache._LARGE if large else 0
        return self.metadata.read(None, data + bytes(max(0, size - len(data)))).cluster_id


def test_an_answer_that_comes_again_is_not_decoded_again() -> None:
    decoding = Decoding()
    assert [decoding(number, "same") for number in range(3)] == ["same"] * 3
    assert decoding.count == 1
    assert decoding(3, "else") == "else"
    assert decoding(4, "same") == "same"
    assert decoding.count == 2


def test_few_answers_are_kept_and_no_small_ones() -> None:
    decoding = Decoding()
    names = [f"{number:04}" for number in range(metadata_cache._KEPT + 1)]
    for name in (*names, *names):
        assert decoding(0, name) == name
    assert decoding.count == 2 * len(names)
    for _ in range(2):
        assert decoding(0, "tiny", large=False) == "tiny"
    assert decoding.count == 2 * len(names) + 2
