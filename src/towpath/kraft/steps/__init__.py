"""The steps of a migration and a rollback, one file for each."""
