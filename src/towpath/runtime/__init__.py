"""Floor 0: the process itself: its log, its clock, its files and the processes beside it."""
