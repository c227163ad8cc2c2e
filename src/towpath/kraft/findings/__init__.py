"""Findings about a migration: codes with values, and their sentences."""
