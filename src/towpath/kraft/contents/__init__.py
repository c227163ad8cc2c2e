"""What a cluster consists of, in one form for both stores, and how both are compared."""
