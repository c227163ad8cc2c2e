"""The landing of a slice: it moves all lanes, from fetched batches to receipts."""
