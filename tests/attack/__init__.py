"""What a hostile tenant, a Viewer, or somebody without a credential can do to the others."""
