"""Effects of object locks on every command that deletes objects of an archive. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from towpath.archive.config.retention import RetentionConfig
from towpath.settings.sections.store import LockMode, StoreConfig, StoreKind


def lock_notes(
    store: StoreConfig, compaction: object, retention: Sequence[RetentionConfig]
) -> Iterator[str]:
    """Yield sentences about the effects of `store.lock`; no sentence without a lock.

    Args:
        store: The store.
        compaction: The rules of compaction, if there are any.
        retention: The rules of `archive prune`.
    """
    lock = store.lock
    if lock is None:
        return
    who = (
        "nobody can delete one before, not even the owner of the account"
        if lock.mode is LockMode.COMPLIANCE
        else "only a login with a right of its own can delete one before"
    )
    days = f"{lock.days} days" if lock.days > 1 else "a day"
    yield f"store.lock ({lock.mode}): segments, entries and schemas are locked for {days}; {who}"
    yield (
        "compact, prune and forget delete no object before its lock is over: `status` counts these"
        f" as waiting, and what `forget` erased is gone for good only {days} after it was written"
    )
    if compaction:
        yield (
            "compaction: what is merged stays beside the result until its lock is over, so the"
            " store holds it twice for that time; longer rules (`min_age`) merge less often"
        )
    for number, rule in enumerate(retention):
        if rule.max_age is not None and float(rule.max_age) < lock.until(0) / 1000:
            yield (
                f"retention[{number}].max_age is shorter than the lock: what it removes from the"
                " archive stays in the store until then"
            )
    if store.kind is StoreKind.S3:
        yield (
            "a bucket with object lock keeps all versions of an object, also of leases and signs of"
            " readers, which are written every few seconds: let a lifecycle rule delete noncurrent"
            " versions after a day (it passes over those that are locked)"
        )
