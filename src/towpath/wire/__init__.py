"""Floor 1: record batches as bytes: headers, codecs, records and digests."""
