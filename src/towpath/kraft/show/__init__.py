"""Pictures and the report of a migration for people, and the same as data."""
