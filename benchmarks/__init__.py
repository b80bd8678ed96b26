"""Benchmarks: one command a question, each with its seed, its table and its picture."""
