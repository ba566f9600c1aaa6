"""The simulated world: time, network, database, and the processes in it."""
