"""Upkeep of what is archived: compaction, removal on request, recovery, tables of Iceberg."""
