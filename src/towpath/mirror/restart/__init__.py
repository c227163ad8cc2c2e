"""`towpath restart`: copies deleted and recreated source topics."""
