"""Sections of files that several products share, or that lower floors use."""
