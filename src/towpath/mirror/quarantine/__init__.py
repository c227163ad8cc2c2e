"""Records that were set aside: which there are, and how they are replayed."""
