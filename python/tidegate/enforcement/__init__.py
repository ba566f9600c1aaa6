"""Refuses packets of blocked addresses in the kernel."""
