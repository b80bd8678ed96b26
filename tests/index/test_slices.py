"""Slices of flat arrays are where their lengths say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.slices import places_of, starts_of


@given(st.lists(st.integers(0, 5)), st.data())
def test_the_places_of_slices_are_those_from_their_starts_on(lengths: list[int], data: st.DataObject) -> None:
    starts = starts_of(lengths, len(lengths))
    assert starts.tolist() == [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    assert starts_of(np.array(lengths, np.int32), len(lengths)).tolist() == starts.tolist()
    chosen = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1))) if lengths else [], np.int64)
    expected = [place for i in chosen for place in range(starts[i], starts[i + 1])]
    assert places_of(starts[chosen], np.diff(starts)[chosen]).tolist() == expected
