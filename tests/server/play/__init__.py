"""Tests of the page of `tidegate play`."""
