"""Decisions leave: what is committed to the log is sent on to others."""
