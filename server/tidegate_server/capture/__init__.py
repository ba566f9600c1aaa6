"""Reads requests off the network or from access logs and forwards them; traffic never waits."""
