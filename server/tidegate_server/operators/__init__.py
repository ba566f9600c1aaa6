"""Operators' access: tokens, passwords, roles, and the keys behind them."""
