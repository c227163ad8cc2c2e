"""Floor 4: groups of consumers that go on on the target exactly where they stand at the source.

`observe` looks at both clusters, `positions` translates, `decide` says what to write and why not,
`write` writes and reads back; `sync` is one pass of all four, `loop` repeats it during a run.
"""
