"""Commands that run the service, or look after its data directory."""
