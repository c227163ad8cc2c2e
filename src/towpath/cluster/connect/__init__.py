"""From an address to a broker that answers: TLS, SASL, one request and its answer."""
