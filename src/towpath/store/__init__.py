"""Floor 2: object stores: S3, Google Cloud Storage, Azure, or a folder.

`Store` is the way in. It repeats what may pass, inside one deadline, and raises kinds of
`StoreError`. Below it, each kind of store is a `Backend` that does each thing once, in a room of
its own: `s3` (requests of botocore, sent by `transport`), `gcs`, `azure` and `files`. A new kind is
such a room, a line in `kinds`, and what the file says of it in `settings/sections/store.py`
(`StoreKind`, its URL, its login).
"""

from towpath.store.objects import StoredObject, ThawSpeed, Unfinished
from towpath.store.patience import hasty
from towpath.store.reader import ObjectReader
from towpath.store.store import Store
from towpath.store.writer import ObjectWriter

__all__ = [
    "ObjectReader",
    "ObjectWriter",
    "Store",
    "StoredObject",
    "ThawSpeed",
    "Unfinished",
    "hasty",
]
