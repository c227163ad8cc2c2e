"""The end of a migration: the rest is copied, all else is synced, and equality is proven."""
