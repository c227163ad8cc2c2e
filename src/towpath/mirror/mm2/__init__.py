"""What MirrorMaker 2 writes, and what reads it, both ways."""
