"""Findings as commands print them, and the meaning of their codes."""
