"""Floor 3: the only package that imports PySpark; it runs slices without knowing their work."""
