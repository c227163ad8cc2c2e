"""`python -m towpath`."""

from towpath.start import run

run()
