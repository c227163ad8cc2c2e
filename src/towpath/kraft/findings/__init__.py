"""What is noticed about a migration: codes with values, and their sentences."""
