"""Serve the console: prebuilt files."""
