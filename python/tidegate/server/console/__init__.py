"""Hands out the console: files that were built before, in front of the control plane."""
