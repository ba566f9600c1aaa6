"""Login of operators with identity providers, and the pages of every login."""
