"""`towpath archive verify`: compare an archive's objects with its commit log.

`verify` does it, on four levels: `entries` and `tiling` look at the commit log, `objects` whether
the objects are there, `content` (in slices) what they hold, and `against` whether the source has
the same. `found` are the values that they return.
"""
