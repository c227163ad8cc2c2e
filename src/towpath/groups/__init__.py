"""Floor 4: consumer groups, whose offsets are translated and written to the target.

`observe` looks at both clusters, `positions` translates, `decide` says what to write and why not,
`write` writes and reads back; `sync` is one pass of all four, `loop` repeats it during a run.
"""
