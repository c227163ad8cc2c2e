"""Histories: source logs that were truncated below the archived end, and rewritten."""
