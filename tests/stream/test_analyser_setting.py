"""The setting ``matching.analyser``, from the settings to the workers, the compaction and the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from index.compaction import due
from index.engines import engine_named
from index.manifest import latest
from index.merge import merge
from index.reader import IndexReader
from index.word_analyser import check_analyser
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.records import DeadLetter
from schemas.texts import ANALYSERS, analyser, set_analyser
from stream import rows, spool
from stream.absorber import AbsorbedPartition, absorb_batches
from stream.compactor import Compactor
from stream.decoding import Decoding
from stream.job import Job
from stream.matcher import MatchTask, match_batches
from stream.settings import load_settings
from stream.spool import SpoolPlan
from tests.stream import console
from tests.stream.test_engine_setting import records
from tests.stream.worker_records import absorb_task

FILTERS = {
    "word": "text has any ('spark'^2)",
    "both": "text has all ('spark', 'kafka')",
    "phrase": "text has any ('spark and kafka'^3)",
}


@pytest.fixture(autouse=True)
def back_to_the_default() -> Iterator[None]:
    yield
    set_analyser(ANALYSERS[0])


def absorb(index: Path, name: str, filters: dict[str, str], first: int = 0) -> tuple[int, list[DeadLetter]]:
    """Publish subscriptions as a worker and the driver do; the driver's analyser is the process's from here on."""
    batch = records(*((id_.encode(), {"filter": text}) for id_, text in filters.items()), first=first)
    task = absorb_task(index, analyser=name)
    found = list(absorb_batches(task, iter([batch])))
    part = msgspec.msgpack.decode(rows.values_of(found, rows.SEGMENT)[0], type=AbsorbedPartition)
    letters = [msgspec.msgpack.decode(value, type=DeadLetter) for value in rows.values_of(found, rows.DEAD_LETTER)]
    assert part.segment is not None
    return IndexWriter(index).publish([part.segment], part.removed, {0: first + len(filters)}), letters


def answers(index: Path, name: str, version: int, *events: dict[str, Any]) -> list[Any]:
    """Return the (subscription, score) pairs of a worker's notifications, or the sentence that ends the job."""
    plan = SpoolPlan(str(index / "spool"), 1 << 20)
    task = MatchTask(str(index), version, "events", Decoding(), 0, "match", False, plan, analyser=name)
    batches = list(match_batches(task, iter([records(*((None, event) for event in events))])))
    if failed := rows.values_of(batches, rows.FAILED):
        return [reason.decode() for reason in failed]
    found = [json.loads(value) for value in rows.values_of(list(spool.expand(iter(batches))), rows.NOTIFICATION)]
    return sorted((body["subscription"], body["score"]) for body in found)


def test_by_default_texts_are_taken_apart_into_words(tmp_path: Path) -> None:
    assert load_settings(environ={}).matching.analyser == "words"
    version, letters = absorb(tmp_path, "words", FILTERS)
    assert [(letter.key, letter.reason) for letter in letters] == [(b"phrase", "keywords.token")]
    assert answers(tmp_path, "words", version, {"text": "Kafka, SPARK!"}) == [("both", 2.0), ("word", 2.0)]
    assert answers(tmp_path, "words", version, {"text": "Spark and Kafka"}) == [("both", 2.0), ("word", 2.0)]


def test_with_whole_each_value_is_one_word(tmp_path: Path) -> None:
    version, letters = absorb(tmp_path, "whole", FILTERS)
    assert letters == []
    assert answers(tmp_path, "whole", version, {"text": "Spark and Kafka"}) == [("phrase", 3.0)]
    assert answers(tmp_path, "whole", version, {"text": "spark"}) == [("word", 2.0)]
    both = {"text": ["KAFKA", "Spark"]}
    assert answers(tmp_path, "whole", version, both) == [("both", 2.0), ("word", 2.0)]
    assert latest(tmp_path).analyser == "whole"


@pytest.mark.parametrize(("built", "other"), [("words", "whole"), ("whole", "words")])
def test_an_index_goes_on_only_with_the_analyser_that_built_it(built: str, other: str, tmp_path: Path) -> None:
    version, _ = absorb(tmp_path, built, FILTERS)
    said = (
        f"The index {tmp_path} was built by the analyser '{built}', and matching.analyser is '{other}'. Set "
        "matching.analyser back, or remove the index directory: the subscriptions are then read again."
    )
    set_analyser(other)
    for refused in (
        lambda: check_analyser(tmp_path, latest(tmp_path)),
        lambda: IndexReader(tmp_path, [engine_named("block")]).at(version),
        lambda: absorb(tmp_path, other, FILTERS, first=9),
    ):
        with pytest.raises(TocsinError) as error:
            refused()
        assert str(error.value) == said
    assert latest(tmp_path).version == version
    check_analyser(tmp_path / "none", latest(tmp_path / "none"))


def test_a_worker_that_meets_an_index_of_another_analyser_ends_the_job_with_the_sentence(tmp_path: Path) -> None:
    version, _ = absorb(tmp_path, "words", FILTERS)
    (said,) = answers(tmp_path, "whole", version, {"text": "spark"})
    assert said.startswith(f"The index {tmp_path} was built by the analyser 'words', and matching.analyser is 'whole'.")


def test_the_job_gives_its_analyser_to_the_compaction_which_merges_by_it(tmp_path: Path) -> None:
    for i in range(8):
        absorb(tmp_path, "whole", {f"s{i}": f"text has any ('{i} and more')"}, first=i)
    (plan,) = due(tmp_path)
    set_analyser("words")
    with pytest.raises(TocsinError, match=r"built by the analyser 'whole', and matching.analyser is 'words'"):
        merge(tmp_path, plan, engine_named("block"))
    compactor = Compactor(tmp_path, tmp_path / "log", "block", "whole")
    command = [argument for argument in compactor._command if argument != "--watch"]
    alone = command[: command.index("--with-parent")] + command[command.index("--engine") :]
    subprocess.run(alone, check=True, capture_output=True)
    manifest = latest(tmp_path)
    assert (len(manifest.segments), manifest.analyser) == (1, "whole")
    assert answers(tmp_path, "whole", manifest.version, {"text": "3 and More"}) == [("s3", 1.0)]


def test_a_compaction_that_is_told_another_analyser_ends_with_the_sentence(tmp_path: Path) -> None:
    for i in range(8):
        absorb(tmp_path, "whole", {f"s{i}": f"text has any ('{i} and more')"}, first=i)
    command = [sys.executable, "-m", "index.compaction_process", str(tmp_path)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "built by the analyser 'whole', and matching.analyser is 'words'" in ended.stderr


def test_a_job_sets_the_analyser_of_its_process() -> None:
    Job(load_settings(None, ["matching.analyser=whole"], {}))
    assert analyser() == "whole"


def test_the_commands_that_match_heed_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOCSIN_CONFIG", raising=False)
    file = tmp_path / "event.json"
    file.write_text('{"text": "Spark and Kafka"}')

    def run(*arguments: str, name: str) -> tuple[int, str]:
        ended = console.in_process(*arguments, "--set", f"matching.analyser={name}")
        return ended.exit_code, ended.output

    assert run("check", "text has 'spark'", str(file), name="words")[0] == 0
    assert run("check", "text has 'spark'", str(file), name="whole")[0] == 1
    assert run("check", "text has 'spark and kafka'", str(file), name="whole")[0] == 0
    assert "one word" in run("check", "text has 'spark and kafka'", str(file), name="words")[1]
    index = tmp_path / "index"
    absorb(index, "whole", FILTERS)
    look = "--index", str(index)
    assert run("explain", "phrase", str(file), *look, name="whole")[0] == 0
    code, said = run("verify", str(file), *look, name="whole")
    assert code == 0, said
    assert "no difference" in said
    assert "phrase" in run("similar", "text has 'Spark and Kafka'", *look, name="whole")[1]
    for command in (("explain", "phrase", str(file)), ("verify", str(file)), ("similar", "text has 'spark'")):
        code, said = run(*command, *look, name="words")
        assert code == 1
        assert "was built by the analyser 'whole', and matching.analyser is 'words'" in said
