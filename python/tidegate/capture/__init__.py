"""Reads requests off the network, or out of access logs, and forwards them; traffic never waits."""
