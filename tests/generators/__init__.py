"""Generators of definitions, traffic and records that our own tests draw from."""
