"""The owner that the simulation runs: a model of the one that ships (docs/decisions/0030)."""
