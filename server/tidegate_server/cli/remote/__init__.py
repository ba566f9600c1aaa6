"""Commands that call a running service as an operator."""
