"""The subjects of a schema registry as an archive keeps them, in parts, and as they are read."""
