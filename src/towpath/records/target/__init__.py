"""Target partitions: their position, their only writer, and producing to them."""
