"""Floor 2: the ledger on the target: its entries, its topic, its events, and the offset map."""
