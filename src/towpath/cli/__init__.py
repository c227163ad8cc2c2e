"""Floor 7: the command line. Each command is a module of its name; `show/` prints results."""
