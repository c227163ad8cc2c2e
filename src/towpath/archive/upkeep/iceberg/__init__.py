"""The files of an archive as tables of Iceberg: the same files, registered in a catalog."""
