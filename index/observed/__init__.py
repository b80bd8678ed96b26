"""What has been observed of events, in sketches of bounded size; how often a predicate holds is estimated from it."""
