"""Presentation of archives and restores, for people and for programs."""
