"""The way into an archive: cycles of slices, and the entries that commit what they wrote."""
