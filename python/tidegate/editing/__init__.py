"""Helps with expressions while they are written: completions, and names in words."""
