"""Floor 5: the run of a link, with its rounds."""
