"""The status of an archive, from its commit log and its source."""
