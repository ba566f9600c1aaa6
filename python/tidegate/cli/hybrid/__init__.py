"""Commands of a machine that decides by itself."""
