"""Engines from the literature, held to the same contract as the block engine; `README.md` is the map."""
