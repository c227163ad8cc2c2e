"""Floor 2: the ledger on the target: its entries, its topic, its events, the offset map."""
