"""Who may operate a tenant: tokens, passwords, roles, and the keys behind them."""
