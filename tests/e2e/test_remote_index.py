"""The job with its index in an object store: it matches, goes on after a kill, and heals."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from index import files
from index.directory import IndexDirectory
from index.manifest import latest, versions
from tests.e2e.harness import PATIENCE, running_job
from tests.e2e.test_damaged_index import FILTERS, TOP, _check, _publish
from tests.index.object_server import object_server

pytest.importorskip("obstore")


def test_a_job_keeps_its_index_in_an_object_store_and_heals_it(
    broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with object_server(store) as server:
        for name, value in (server.environment | {"TOCSIN_CACHE_DIR": str(tmp_path / "cache")}).items():
            monkeypatch.setenv(name, value)
        url = "s3://tocsin-job/flights/index"
        layout = IndexDirectory.of(url)
        files.write_new(layout.root / "first", [b""])  # which makes the bucket
        published: list[Any] = []
        with running_job(broker.bootstrap_servers, tmp_path, top=TOP, index_dir=url) as (job, client):
            client.subscribe({id_: {"filter": text} for id_, text in FILTERS.items()})
            _publish(client, published)
            _check(job, client, published)
            assert latest(layout).version > 0
            assert not (tmp_path / "index").exists()

            job.arm("events.offsets-sent", signal.SIGKILL)
            _publish(client, published)
            assert job.process.wait(PATIENCE) == -signal.SIGKILL
            job.await_gone()
            lost = layout.segment(latest(layout).segments[0].segment.name)
            before = versions(layout)
            files.remove(lost)
            job.start()
            log = job.process.log.read_text()
            assert f"{lost} is damaged: found" in log
            assert f"the damaged one is {url}/damaged/" in log
            (aside,) = files.folders(layout.root / "damaged")
            assert len(files.names(layout.root / "damaged" / aside)) == len(before)
            _check(job, client, published)
            assert job.stop() == 0
