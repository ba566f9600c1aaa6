"""Commands that run the service, or maintain its data directory."""
