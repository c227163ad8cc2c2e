"""Floor 2: the ledger on the target: its entries, its topic, events, and the offset map."""
