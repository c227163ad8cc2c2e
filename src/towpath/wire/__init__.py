"""Record batches: header view and patch, codecs, records in and out, digests."""
