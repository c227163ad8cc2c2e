"""Floor 7: the command line. Each command has a module of its name: parse, call, show."""
