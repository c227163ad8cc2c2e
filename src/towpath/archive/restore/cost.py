"""Estimates of a restore: objects, requests, bytes, time and price. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.config.restore_section import RestoreCosts
from towpath.archive.log import ArchiveState
from towpath.archive.restore.model import RestoreScope
from towpath.model.amounts import count, counted, size, span, time_left

_PER_OBJECT = 2
"""Requests for an object: whether it is there, and its end with the footer."""
_PER_REQUEST = 1 << 20
"""Fewest bytes of a request for its records (`store/reader.py`), unless the object is smaller."""
_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCost:
    """The estimated cost of a restore.

    Attributes:
        objects: Number of objects that are read.
        bytes: Bytes of these objects as they are stored. Of one that others share, all count.
        requests: Requests that read them, at most, about.
        records_bytes: Bytes of records.
        seconds: How long that takes at the rate of the file; 0 for nothing.
        price: What it costs by the prices of the file, `None` if it has none.
        currency: The currency of the price.
    """

    objects: int
    bytes: int
    requests: int
    records_bytes: int
    seconds: float
    price: float | None
    currency: str

    def told(self, rate: float) -> str:
        """Return the cost as a sentence.

        Args:
            rate: The rate that the time was reckoned with, in bytes per second.
        """
        text = (
            f"reads {counted(self.objects, 'object')} of {size(self.bytes)} in about"
            f" {count(self.requests)} requests and takes about {span(self.seconds)} at"
            f" {size(rate)}/s of records"
        )
        if self.price is None:
            return f"{text}; prices under `restore.costs` tell what that costs"
        return f"{text}; about {self.price:,.2f} {self.currency}"


def cost_of(
    state: ArchiveState, scope: RestoreScope, keys: Collection[str], costs: RestoreCosts
) -> RestoreCost:
    """Estimate the cost of a restore.

    Args:
        state: The archive.
        scope: What comes back.
        keys: The keys of the objects that are read.
        costs: What it is reckoned with.
    """
    rows = state.table().rows.select(["key", "size"])
    read = rows.filter(pc.is_in(rows["key"], pa.array(list(keys), pa.string())))
    found = read.group_by("key").aggregate([("size", "max")])["size_max"].to_pylist()
    bytes_ = sum(found)
    requests = sum(_PER_OBJECT - -each // _PER_REQUEST for each in found)
    records = sum(topic.bytes for topic in scope.topics.values())
    prices = (costs.thousand_gets, requests / 1000), (costs.egress_gib, bytes_ / _GIB)
    known = [price * amount for price, amount in prices if price is not None]
    return RestoreCost(
        objects=len(found),
        bytes=bytes_,
        requests=requests,
        records_bytes=records,
        seconds=time_left(records, float(costs.rate)) or 0.0,
        price=sum(known) if known else None,
        currency=costs.currency,
    )
