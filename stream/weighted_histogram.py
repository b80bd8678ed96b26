"""A histogram for Prometheus that takes many observations at a time, each with a weight."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class WeightedHistogram(Collector):
    """Like the client library's histogram, whose ``observe`` takes one observation of weight 1 a call.

    A micro-batch holds thousands of events, whose latencies come as a few hundred values with how often each occurs.

    Parameters
    ----------
    name, meaning
        Of the metric.
    bounds
        Upper bounds of the buckets, ascending; the bucket for all above the last is added.
    registry
        Where it is registered.
    """

    def __init__(self, name: str, meaning: str, bounds: Sequence[float], registry: CollectorRegistry) -> None:
        self._name = name
        self._meaning = meaning
        self._bounds = np.array([*bounds, np.inf])
        self._lock = threading.Lock()
        self._counts = np.zeros(len(self._bounds), np.int64)
        self._sum = 0.0
        registry.register(self)

    def observe(self, values: npt.NDArray[np.float64], weights: npt.NDArray[np.int64]) -> None:
        """Add observations; both arrays have one entry each."""
        buckets = np.searchsorted(self._bounds, values)
        with self._lock:
            np.add.at(self._counts, buckets, weights)
            self._sum += float(values @ weights)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Yield the metric, as the registry asks for it."""
        with self._lock:
            totals, total = self._counts.cumsum().tolist(), self._sum
        names = [floatToGoString(bound) for bound in self._bounds]
        yield HistogramMetricFamily(self._name, self._meaning, list(zip(names, totals, strict=True)), total)
