"""What pages, pictures and metrics say, read back."""
