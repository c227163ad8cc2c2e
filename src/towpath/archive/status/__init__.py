"""The status of an archive, by its commit log and its source."""
