"""Tools of steps: files, waits, the probe, and leaders that need a new epoch."""
