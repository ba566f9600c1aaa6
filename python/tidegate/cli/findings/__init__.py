"""Findings as commands print them, and what their codes mean."""
