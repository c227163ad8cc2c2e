"""Objects as files in a folder."""
