"""The proof that what was restored is what the archive holds: digests of both, read anew."""
