"""Drops packets from blocked addresses in the kernel."""
