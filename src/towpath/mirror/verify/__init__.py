"""`towpath verify`: the comparison of source and target."""
