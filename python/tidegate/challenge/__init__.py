"""Challenges: the providers that make and check them, and where a visitor may be sent after."""
