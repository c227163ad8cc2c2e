"""Floor 2: connections to brokers; no other package opens sockets to them.

Every connection, of the control plane and of the data path, begins in `connection` (TLS by
`security`, login by `login`). `admin` is the control plane: it builds kafka-python's messages,
`control` finds the broker that must answer, sends them by `exchange` and tries again, `leaders`
does so for many partitions at once, `metadata` holds what comes back. `codes` and `border` say what
went wrong.
"""

from __future__ import annotations

from towpath.cluster.bare import leave_bare

leave_bare()
