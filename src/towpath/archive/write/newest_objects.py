"""A check for missing objects when a run begins, as in an incomplete copy of a store.

A copy that was made while the archive grew may have entries of the log without their objects. Those
records count as archived, so nobody archives them again.
"""

from __future__ import annotations

import pyarrow.compute as pc

from towpath.archive.log import CommitLog
from towpath.model.errors import ObjectMissingError

_LOOKED_FOR = 64


def missing_sentence(log: CommitLog) -> str:
    """Return a sentence if the store lacks some of the log's newest objects, else "".

    Raises:
        StoreError: The store cannot be asked.
    """
    rows = log.state.table().rows.select(["key", "created"]).drop_null()
    newest = rows.take(pc.select_k_unstable(rows, _LOOKED_FOR, [("created", "descending")]))
    keys = sorted({*newest["key"].to_pylist()})
    there = log.store.threads.map(lambda key: _is_there(log, key), keys)
    missing = [key for key, is_there in zip(keys, there, strict=True) if not is_there]
    if missing and log.follow():  # a compaction may have replaced them, and deleted them since
        named = {*log.state.table().rows["key"].to_pylist()}
        missing = [key for key in missing if key in named]
    if not missing:
        return ""
    return (
        f"the store lacks {len(missing)} of the {len(keys)} newest objects that the log names, such"
        f" as {missing[0]}, so archived records are not there: where this is a copy of an archive,"
        " copy it again; `towpath archive verify` names all that is missing"
    )


def _is_there(log: CommitLog, key: str) -> bool:
    try:
        log.store.head(key)
    except ObjectMissingError:
        return False
    return True
