"""`python -m towpath`."""

from towpath.cli.main import run

run()
