"""Commands that create tenants, operators and keys in this machine's database."""
