"""The block engine: matches 64 events a machine word."""
