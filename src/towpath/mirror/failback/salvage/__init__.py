"""Salvage topics: what one cluster alone had, where the other one's records stayed."""
