"""Connections to brokers: TLS, SASL, one request and its response."""
