"""Between floors 4 and 5: what MirrorMaker 2 writes, and what reads it, both ways."""
