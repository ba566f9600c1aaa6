"""Decides on this machine by the definitions of a service, and forwards what it decided."""
