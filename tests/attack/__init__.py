"""Attacks by a hostile tenant, a Viewer, or somebody without a credential on the others."""
