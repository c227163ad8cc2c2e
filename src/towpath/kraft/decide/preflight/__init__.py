"""Checks before a migration for everything that would stop it or lose something."""

from towpath.kraft.decide.preflight.preflight import preflight

__all__ = ["preflight"]
