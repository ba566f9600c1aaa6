"""Serve the console: prebuilt files, in front of the control plane."""
