"""The vocabulary: expression trees, events, subscriptions, notifications, and how they travel."""
