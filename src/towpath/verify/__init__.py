"""Floor 5: whether the target is what the ledger says it is."""
