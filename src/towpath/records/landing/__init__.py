"""The landing of a slice: moves all lanes from fetched batches to written receipts."""
