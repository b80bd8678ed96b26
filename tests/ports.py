"""Ports for servers that can't ask the system for one themselves: free, and not soon to be a connection's own."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

HOST = "127.0.0.1"
BELOW_CONNECTIONS = range(15_000, 32_000)
"""Linux gives connections and whoever asks for any port one from 32,768 on: until a server listens, which takes
seconds, another process might get what was asked for and given back."""


def free_ports(count: int) -> list[int]:
    """Return so many ports at which nobody listens."""
    chance = random.SystemRandom()
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = chance.choice(BELOW_CONNECTIONS)
            try:
                held.enter_context(socket.socket()).bind((HOST, port))
            except OSError:
                continue
            found.append(port)
    return found
