"""One partition on its way through a copy slice."""
