"""``tocsin verify`` with the events of the topic."""

from __future__ import annotations

import json
from pathlib import Path

from index.block.engine import BlockEngine
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.filter_text import parse_filter
from schemas.records import Subscription
from tests.conftest import BrokerAddress
from tests.stream.test_cli_broker import CommandLine


def test_the_latest_events_of_the_topic_are_matched_and_nothing_is_created(
    broker: BrokerAddress, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    late = Subscription("late", parse_filter("dep_delay >= 15"))
    IndexWriter(index).publish([write_segment(index, BlockEngine(), [late])], [], {})
    tocsin = CommandLine(broker.bootstrap_servers)
    missing = tocsin("verify", "--index", str(index))
    assert missing.returncode == 1
    assert f"there is no topic {tocsin.events}" in missing.stderr
    again = tocsin("verify", "--index", str(index))
    assert f"there is no topic {tocsin.events}" in again.stderr

    tocsin("publish", "-", "--key-field", "n", stdin="\n".join(f'{{"n": {n}, "dep_delay": {n}}}' for n in range(20)))
    everything = tocsin("verify", "--index", str(index), "--json", "--sample", "1000")
    assert everything.returncode == 0, everything.stderr
    report = json.loads(everything.stdout)
    assert (report["events"], report["matches"], report["differing"]) == (20, 5, 0)
    few = json.loads(tocsin("verify", "--index", str(index), "--json", "--sample", "4").stdout)
    assert (few["events"], few["complete"]) == (4, True)
