"""The source side of a copy slice: what is fetched, and what is done about trouble there."""
