"""Why a subscription matches an event or does not, and which subscriptions came nearest to an event."""
