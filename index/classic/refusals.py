"""What a classic engine says of a subscription that it cannot express."""

from __future__ import annotations

from schemas.errors import Refused
from schemas.records import Subscription


def unsupported(engine: str, subscription: Subscription, what: str, instead: str = "block") -> Refused:
    """Return the refusal of a subscription.

    Parameters
    ----------
    engine
        The engine's name.
    subscription
        The subscription.
    what
        What it holds that the engine has no form for.
    instead
        The name of an engine that takes it.
    """
    return Refused(
        "engine.unsupported",
        f"the subscription {subscription.id!r} holds {what}, which the engine {engine!r} cannot express; the engine "
        f"{instead!r} does: set job.engine to it, or write the subscription without",
        "$.expression",
    )
