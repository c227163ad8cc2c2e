"""Where a link stands."""
