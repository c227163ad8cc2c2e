"""Removal of a link's books: what it owns, what stays, and who relies on it."""
