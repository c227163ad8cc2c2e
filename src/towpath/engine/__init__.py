"""Floor 3: Spark. The only package that imports PySpark; it knows slices, not what they do."""
