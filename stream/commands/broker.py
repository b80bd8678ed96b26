"""``tocsin broker``: the embedded broker in the foreground."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from schemas.errors import TocsinError
from stream.commands.shared import say, write_line


def broker(
    data: Annotated[
        Path, typer.Option(metavar="DIR", readable=False, help="Folder of its data, which is kept.")
    ] = Path("tocsin-data/broker"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1 that clients reach it at; 0 takes a free one.")
    ] = 9092,
) -> None:
    """Run Apache Kafka, one node, until Ctrl-C or SIGTERM: for a trial, not for production.

    Its address goes to stdout once clients can use it. What was on its topics is there again at the next start.
    """
    from stream.broker import Broker

    _need_free(port)
    signal.signal(signal.SIGTERM, _interrupt)
    say("starting the broker")
    with Broker(data=data, port=port or None) as running:
        try:
            write_line(running.bootstrap_servers.encode())
            say(f"the broker is ready at {running.bootstrap_servers}; its log is {running.log_file}; Ctrl-C stops it")
            while True:
                running.check()
                time.sleep(0.3)
        except KeyboardInterrupt:
            # A second Ctrl-C must not cut the clean stop short, which would leave the process behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say("stopping the broker")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _need_free(port: int) -> None:
    """Refuse a port that is taken, before a broker is started that would say so in its log only."""
    with socket.socket() as probe:
        # As the broker itself binds it: a port whose last connections are being closed is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise TocsinError(
                f"port {port} is taken, perhaps by a broker that runs already; stop it or choose another with --port"
            ) from error
