"""Filters of other systems as expression trees: `event_patterns` and `bool_queries`."""
