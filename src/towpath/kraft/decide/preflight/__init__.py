"""Everything that would stop a migration to KRaft, or lose something in it, found before it."""

from towpath.kraft.decide.preflight.preflight import preflight

__all__ = ["preflight"]
