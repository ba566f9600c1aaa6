"""What marks a secret in an event: names by families, and values that show themselves."""
