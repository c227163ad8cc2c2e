"""Records of an archive as rows of a table: what the tasks of a query read."""
