"""The waits before the first event: told how far the index is, ended by a stop or by a query that has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.errors import TocsinError
from stream.first_load import await_load, await_workers
from stream.progress import IndexProgress, Stopping
from stream.stop import Stop


def queries(check: Callable[[], None] = lambda: None) -> Any:
    return SimpleNamespace(check=check)


def gone() -> None:
    raise TocsinError("the query ended")


def test_an_index_that_holds_the_topic_is_not_waited_for() -> None:
    told: list[str] = []
    await_load(IndexProgress(3, {0: 5, 1: 7}), {0: 5, 1: 6}, queries(gone), Stop(print), told.append)
    assert told == []


def test_how_many_records_are_left_is_told_until_they_are_absorbed() -> None:
    progress, told = IndexProgress(0, {}), []

    def tell(sentence: str) -> None:
        told.append(sentence)
        progress.published(len(told), {0: 1_000 * len(told)})

    await_load(progress, {0: 2_000}, queries(), Stop(print), tell)
    assert told[0] == "loading subscriptions, 2,000 records to go"
    assert told[1].startswith("loading subscriptions, 1,000 records to go, ")
    assert told[1].endswith(" a second")
    assert len(told) == 2


def test_a_stop_or_the_end_of_the_query_ends_the_wait_for_the_load() -> None:
    stop = Stop(print)
    with pytest.raises(TocsinError, match="the query ended"):
        await_load(IndexProgress(0, {}), {0: 1}, queries(gone), stop, print)
    stop.begin()
    try:
        with pytest.raises(Stopping):
            await_load(IndexProgress(0, {}), {0: 1}, queries(), stop, print)
    finally:
        stop.done()


def test_a_stop_or_the_end_of_a_query_ends_the_wait_for_workers() -> None:
    may_end, stop = threading.Event(), Stop(print)
    awake = threading.Thread(target=may_end.wait, args=(30,))
    awake.start()
    with pytest.raises(TocsinError, match="the query ended"):
        await_workers(awake, queries(gone), stop)
    stop.begin()
    try:
        await_workers(awake, queries(gone), stop)
        assert awake.is_alive()
    finally:
        stop.done()
        may_end.set()
        awake.join()
    await_workers(awake, queries(gone), Stop(print))
