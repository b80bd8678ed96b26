"""The block engine: matches many events at once, 64 in each machine word of a mask."""
