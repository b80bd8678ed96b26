"""The matching library: engines, segments and their life cycle."""
