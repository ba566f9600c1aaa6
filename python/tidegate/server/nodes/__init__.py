"""Several nodes over one database: each answers any call, one of them decides."""
