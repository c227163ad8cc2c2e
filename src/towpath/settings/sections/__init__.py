"""Sections that the files of several products have, or that the floors below them work by."""
