"""Tools that steps use: files, waits, the probe topic, and renewed leader epochs."""
