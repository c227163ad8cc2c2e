"""Records of links that go through Spark: from ranges of offsets, through a query, once."""
