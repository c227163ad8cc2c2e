"""Commands of links over HTTP."""
