"""Record batches as readers of segments and of broker logs return them."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.nouns import SourceOffset
from towpath.wire.aborted import Aborted
from towpath.wire.packing import Packed


@dataclass(frozen=True, slots=True)
class PackedBatches:
    """Consecutive batches of one partition, as in a fetch response.

    Attributes:
        data: The batches. Nobody else uses these bytes.
        end: The offset behind the last batch.
        aborted: Producer id and first offset of each aborted transaction among the batches.
    """

    data: Packed
    end: SourceOffset
    aborted: Aborted = ()
