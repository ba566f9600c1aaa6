"""Commands that make tenants, operators and keys in the database of this machine."""
