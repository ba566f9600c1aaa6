"""The families of user agents: browsers, systems, devices and robots."""
