"""Settings of a job with a name and topics of its own, on the broker of the test run."""

from __future__ import annotations

import uuid

from stream.settings import Settings, load_settings
from tests.conftest import BrokerAddress

KINDS = ("subscriptions", "events", "notifications", "dead_letters")


def settings_of_its_own(broker: BrokerAddress, *overrides: str) -> Settings:
    """Return settings whose job's name nobody else has; its topics are named after it, and are not made yet."""
    name = f"o{uuid.uuid4().hex[:8]}"
    topics = [f"topics.{kind}={name}-{kind}" for kind in KINDS]
    servers = f"kafka.bootstrap_servers={broker.bootstrap_servers}"
    return load_settings(None, [servers, f"job.name={name}", *topics, *overrides], {})
