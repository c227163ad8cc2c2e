"""Floor 4: ACLs, SCRAM users and quotas: `observe`, then `diff` (pure), then `apply` the steps."""
