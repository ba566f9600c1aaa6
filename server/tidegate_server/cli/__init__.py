"""The commands of `tidegate` that need the service."""
