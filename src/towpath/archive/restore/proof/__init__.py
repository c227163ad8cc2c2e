"""Proof of a restore: digests of the target and the archive, read again and compared."""
