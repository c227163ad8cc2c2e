"""Floor 7: the command line. A command parses, calls and returns; `output` and `render` show."""
