"""The cutover of a link: the last records are copied, the rest synced, and equality proven."""
