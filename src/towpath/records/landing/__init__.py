"""What joins reading, lanes and writing: everything that acts on the lanes of a slice."""
