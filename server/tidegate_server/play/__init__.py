"""A local page to try definitions on events: no account, no store, nothing recorded."""
