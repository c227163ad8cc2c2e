"""Presentation of a migration: pictures and a report for people, and data."""
