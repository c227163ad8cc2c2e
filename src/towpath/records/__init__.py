"""Floor 3: the work of a copy slice, from fetching record batches to producing them."""
