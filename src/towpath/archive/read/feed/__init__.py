"""Feeds that read archives and supply batches to lanes, for restores and mirrors."""
