"""Iceberg tables that consist of an archive's own files, registered in a catalog."""
