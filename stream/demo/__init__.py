"""The demo: a year's flights from New York meet the subscriptions of travellers, airlines and airports."""

from stream.demo.run import run_demo

__all__ = ["run_demo"]
