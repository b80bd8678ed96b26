"""A removal that the topic has forgotten while the job stood still: nobody is matched for ever who left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from index.engines import engine_named
from index.writer import IndexWriter, write_segment
from schemas.json_codec import decode_subscription
from stream.removals import FILE
from stream.topics import WEEK_MS
from tests.e2e.harness import running_job


def test_an_index_that_may_have_missed_a_removal_is_built_anew(broker: Any, tmp_path: Path) -> None:
    """Kafka takes its time to forget one: the index that is left holds somebody of whom the topic knows nothing."""
    index = tmp_path / "index"
    with running_job(broker.bootstrap_servers, tmp_path) as (job, client):
        client.subscribe({"stays": {"filter": "a = 1"}})
        client.await_committed(job.subscriptions_group, job.topics.subscriptions)
        assert job.stop() == 0
        left = decode_subscription("left", b'{"filter":"a = 1"}')
        IndexWriter(index).publish([write_segment(index, engine_named("block"), [left])], [], {})

        def restarted(**came: Any) -> list[str]:
            (index / FILE).write_text(f'{{"time":{(index / FILE).stat().st_mtime - WEEK_MS / 1000 - 60}}}')
            client.subscribe(came)
            job.start()
            (place,) = client.publish([{"a": 1}])
            client.await_committed(job.events_group, job.topics.events)
            assert job.stop() == 0
            return [match["subscription"] for match in client.matches_of(place)]

        assert restarted() == ["left", "stays"], "while nothing is written nothing is missed"
        assert restarted(new={"filter": "a = 1"}) == ["new", "stays"]
        assert "some that the index has not seen may be gone" in job.process.log.read_text()
