"""Links as the ledger knows them, from before they run; their source is not asked."""
