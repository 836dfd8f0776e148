"""Choosing a TCP port; conductor and drivers need the same."""

import socket


def free_port() -> int:
    """Return a port of the loopback address that is free now. Another process may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
