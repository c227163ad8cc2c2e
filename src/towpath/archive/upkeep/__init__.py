"""Maintenance of archives: compaction, removal on request, recovery, Iceberg tables."""
