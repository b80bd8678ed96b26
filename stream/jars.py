"""The pinned jars: Kafka's broker and Spark's Kafka connector, downloaded once, checked, then used offline.

``broker.lock`` and ``connector.lock``, in jgo's lock format, name every jar with its SHA-256, so what runs is what was
tested. A start only looks whether the files are there; a jar enters the cache by one rename, after its checksum agreed.
``python -m stream.jars`` resolves the roots below anew and rewrites the locks.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from index.cache_folder import CACHE_VARIABLE, cache_folder
from schemas.errors import TocsinError
from stream.console import console

BROKER_ROOTS = (
    "org.apache.kafka:kafka_2.13:4.1.1",
    # Kafka logs through slf4j and brings nothing that writes. With "!" this one does not manage Kafka's versions.
    "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3!",
)
CONNECTOR_ROOTS = ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",)

DOWNLOADS_AT_ONCE = 4
ATTEMPTS = 3

Report = Callable[[int, int, str], None]
"""Told (jars done, jars in all, name of the last one) while jars are downloaded."""


class Jar(msgspec.Struct, frozen=True):
    """One locked jar."""

    group: str = msgspec.field(name="groupId")
    artifact: str = msgspec.field(name="artifactId")
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Its file's name, in the cache as in any Maven repository."""
        return f"{self.artifact}-{self.version}.jar"


def broker_jars(report: Report | None = None) -> list[Path]:
    """Return the class path of Kafka's broker and tools, downloading what is missing.

    Raises
    ------
    TocsinError
        A jar can't be downloaded, or is not the one that was locked.
    """
    return _fetch(_locked("broker"), report)


def connector_jars(report: Report | None = None) -> list[Path]:
    """Return the jars that Spark needs beyond its own to read from Kafka; errors as `broker_jars`."""
    return _fetch(_locked("connector"), report)


def _locked(name: str) -> list[Jar]:
    lock = tomllib.loads(_lock_file(name).read_text())
    return msgspec.convert(lock["dependencies"], list[Jar])


def _lock_file(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.lock")


def _fetch(jars: list[Jar], report: Report | None) -> list[Path]:
    folder = cache_folder() / "jars"
    missing = [jar for jar in jars if not (folder / jar.file_name).exists()]
    if missing:
        _download(missing, folder, report)
    return [folder / jar.file_name for jar in jars]


def _download(jars: list[Jar], folder: Path, report: Report | None) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            _reporting(report, len(jars)) as tell,
            tempfile.TemporaryDirectory(prefix="download-", dir=folder) as scratch,
            ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool,
        ):
            futures = {pool.submit(_download_one, jar, Path(scratch), folder): jar for jar in jars}
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    future.result()
                    tell(done, len(jars), futures[future].file_name)
            finally:
                pool.shutdown(cancel_futures=True)
    except OSError as error:  # requests' errors are OSErrors too
        raise TocsinError(
            f"could not download the jars of Kafka and Spark's Kafka connector into {folder}: {error}; check the "
            f"network and try again, or copy that folder from a machine where Tocsin has run ({CACHE_VARIABLE} "
            f"names another place)"
        ) from error


def _download_one(jar: Jar, scratch: Path, folder: Path) -> None:
    source = _context(scratch).project(jar.group, jar.artifact).at_version(jar.version).artifact()
    for attempt in range(1, ATTEMPTS + 1):
        try:
            file: Path = source.resolve()
            break
        except RuntimeError as error:  # jgo found it in no repository
            raise TocsinError(f"no repository has {jar.file_name}; check those in jgo's settings") from error
        except OSError:
            (scratch / source.component.path_prefix / jar.file_name).unlink(missing_ok=True)
            if attempt == ATTEMPTS:
                raise
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != jar.sha256:
        raise TocsinError(
            f"the downloaded {jar.file_name} is not the locked one (SHA-256 {found}, wanted {jar.sha256}); the "
            f"repository or something on the way to it serves another file, so nothing of it was kept"
        )
    file.replace(folder / jar.file_name)


def _context(repository: Path) -> Any:
    """Return jgo's Maven context with that local repository and the remote ones of the user's jgo settings."""
    from jgo.config import GlobalSettings
    from jgo.maven import MavenContext

    context = MavenContext(repo_cache=repository, timeout=30)
    context.remote_repos.update(GlobalSettings.load().repositories)
    return context


@contextmanager
def _reporting(report: Report | None, total: int) -> Iterator[Report]:
    """Yield the given report, or one that draws a progress bar when a terminal is there to draw it on."""
    if report is not None or not sys.stderr.isatty():
        yield report or (lambda *_: None)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("downloading Kafka and the Spark connector, once"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TextColumn("{task.description}"), console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, _, name: bar.update(task, completed=done, description=name)


def _lock(name: str, roots: Iterable[str], provided: frozenset[str]) -> None:
    """Resolve the roots and write their lock, without the artifacts that are provided."""
    from jgo.env import LockFile

    with tempfile.TemporaryDirectory() as scratch:
        context = _context(Path(scratch))
        asked = [context.create_dependency(root) for root in roots]
        for dependency in asked:
            dependency.scope = "compile"
        inputs, transitive = context.resolver.resolve(asked)
        chosen = [dep for dep in [*inputs, *transitive] if dep.scope in ("compile", "runtime")]
        chosen = [dep for dep in chosen if dep.artifactId not in provided]
        LockFile.from_resolved_dependencies(chosen, environment_name=name).save(_lock_file(name))


def _provided_by_pyspark() -> frozenset[str]:
    import pyspark

    jars = (Path(pyspark.__file__).parent / "jars").glob("*.jar")
    return frozenset(jar.stem.rpartition("-")[0] for jar in jars)


if __name__ == "__main__":
    _lock("broker", BROKER_ROOTS, frozenset())
    _lock("connector", CONNECTOR_ROOTS, _provided_by_pyspark())
