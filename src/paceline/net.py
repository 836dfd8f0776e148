"""TCP ports of the loopback address: choosing a free one, and finding out whether one is in use."""

import socket


def free_port() -> int:
    """Return a port that is free now. Another process may take it before the caller uses it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listened_on(port: int) -> bool:
    """Return whether a process listens on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
