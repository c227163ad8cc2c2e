"""What the tests share: clusters, a proxy that breaks connections, an independent client."""
