"""The steps of a migration and of the way back."""
