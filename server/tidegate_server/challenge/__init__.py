"""Challenges: the providers that issue and check them, and the allowed return URLs."""
