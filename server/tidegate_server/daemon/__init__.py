"""Decides on this machine by a service's definitions, and forwards the decisions."""
