"""Several nodes over one database: every node answers any call, and owners decide."""
