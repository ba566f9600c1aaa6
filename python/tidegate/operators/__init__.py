"""Access of operators: tokens, passwords, roles, and the keys behind them."""
