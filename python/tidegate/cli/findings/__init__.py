"""Findings printed by commands, and the meaning of their codes."""
