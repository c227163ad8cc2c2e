"""Reading of archives for restores, mirrors, queries, listings and verification."""
