"""The steps of a migration, forwards and back: each file has all of one step."""
