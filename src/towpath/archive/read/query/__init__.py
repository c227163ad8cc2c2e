"""SQL queries over the records of an archive."""
