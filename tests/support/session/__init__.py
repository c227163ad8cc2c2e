"""The session of tests itself: its order, its programs, and its end."""
