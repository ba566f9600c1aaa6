"""Findings from recorded events: about keys, and about what definitions do with traffic."""
