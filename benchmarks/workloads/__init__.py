"""Seeded workloads that tests and benchmarks share; `registry` lists them."""
