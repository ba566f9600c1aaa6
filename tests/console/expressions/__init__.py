"""The editor, its grammar, and expressions as rows."""
