"""Commands for a machine that makes its own decisions."""
