"""`towpath archive verify`: whether an archive holds what its commit log says.

`verify` does it, on four levels: `entries` and `tiling` look at the commit log, `objects` whether
the objects are there, `content` (in slices) what they hold, and `against` whether the source has
the same. `found` are the values that they return.
"""
