"""The demo's settings: all of the job's folders in the demo's own, and a size that fits two cores."""

from __future__ import annotations

from pathlib import Path

from stream.settings import Settings
from stream.settings_tables import Job, Kafka, Topics


def demo_settings(folder: Path, bootstrap_servers: str, top: int) -> Settings:
    """Return the settings of a demo whose files lie in ``folder``; none comes from the user's environment."""
    return Settings(
        kafka=Kafka(bootstrap_servers=bootstrap_servers),
        topics=Topics(partitions=2),
        job=Job(
            name="tocsin-demo",
            top=top,
            master="local[2]",
            index_dir=str(folder / "index"),
            checkpoint_dir=str(folder / "checkpoint"),
            log_file=str(folder / "spark.log"),
            metrics_interval_seconds=2,
        ),
        spark={"spark.driver.memory": "1g"},
    )
