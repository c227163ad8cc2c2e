"""Independent clients and the applications made of them."""
